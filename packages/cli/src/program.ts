import tab from '@bomb.sh/tab/commander'
import { Command } from 'commander'
import { addChaos } from './chaos/chaos-command.ts'
import { addCheckTrace } from './check-trace/check-trace-command.ts'
import { addDev } from './dev/dev-command.ts'
import { addDoctor } from './doctor/doctor-command.ts'
import { addExec } from './exec/exec-command.ts'
import { addExplain } from './explain/explain-command.ts'
import { addManifests } from './manifests.ts'
import { addPolicies } from './policies.ts'
import { addStatus } from './status/status-command.ts'
import { addStepDown } from './step-down/step-down-command.ts'
import { addTransfer } from './step-down/transfer-command.ts'
import { addUi } from './page/ui-command.ts'
import type { Invocation } from './terminal.ts'
import { addReplay } from './watch/replay-command.ts'
import { addWatch } from './watch/watch-command.ts'
import { VERSION } from './version.ts'

/** Adds one command to the program. */
type AddCommand = (program: Command, invocation: Invocation) => void

const COMMANDS: readonly AddCommand[] = [
  addDev,
  addStatus,
  addExplain,
  addUi,
  addWatch,
  addReplay,
  addCheckTrace,
  addStepDown,
  addTransfer,
  addDoctor,
  addChaos,
  addExec,
  addManifests,
  addPolicies,
]

/** Makes the command line of `tenure`. Errors are one line, and are thrown instead of ending the process. */
export function createProgram(invocation: Invocation): Command {
  const { terminal } = invocation
  const program = new Command('tenure')
    .description('Shows, explains and moves leaders in a Kubernetes cluster.')
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print help')
    .exitOverride()
    .configureHelp({ minWidthToWrap: 10, subcommandTerm: (command) => command.name() })
    .configureOutput({
      writeOut: terminal.out,
      writeErr: terminal.err,
      getOutHelpWidth: () => terminal.columns ?? 80,
      getErrHelpWidth: () => terminal.columns ?? 80,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      outputError: (text, write) => write(`${asLine(text)} Run \`${commandOf(program)} --help\`.\n`),
    })
    .addHelpText('after', '\nRun `tenure COMMAND --help` for its\noptions and an example.')
  for (const add of COMMANDS) add(program, invocation)
  return withCompletion(program)
}

/** Ends a call without a command. @throws CommanderError */
export function missingCommand(program: Command): never {
  return program.error(`error: missing command: ${program.commands.map((command) => command.name()).join(', ')}`)
}

/** The command in which the arguments failed, as the user called it. */
function commandOf(program: Command): string {
  const [first] = program.args
  const isKnown = program.commands.some((command) => command.name() === first)
  return isKnown ? `tenure ${first}` : 'tenure'
}

/** Commander writes a suggestion on a line of its own. */
function asLine(text: string): string {
  const line = text
    .trim()
    .replace(/^error: /, '')
    .replaceAll(/\s*\n\s*/g, ' ')
  return /[.?)]$/.test(line) ? line : `${line}.`
}

function withCompletion(program: Command): Command {
  tab(program)
  const complete = program.commands.find((command) => command.name() === 'complete')
  complete?.description('print the completion script of a shell').addHelpText(
    'after',
    `
Examples:
  $ source <(tenure complete bash)
  $ source <(tenure complete zsh)
  $ tenure complete fish | source`,
  )
  return program
}
