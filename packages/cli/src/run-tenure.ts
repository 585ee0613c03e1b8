import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { CommanderError } from 'commander'
import { createProgram, missingCommand } from './program.ts'
import type { Invocation, Terminal } from './terminal.ts'

/**
 * Runs a command line.
 *
 * Returns the exit code: 2 for a wrong command line, 1 for any other failure, and what the command itself says otherwise. A failure
 * prints one line.
 */
export async function runTenure(args: readonly string[], terminal: Terminal): Promise<number> {
  const invocation: Invocation = { terminal, exitCode: 0 }
  try {
    const program = createProgram(invocation)
    if (args.length === 0) missingCommand(program)
    await program.parseAsync([...args], { from: 'user' })
    return invocation.exitCode
  } catch (error) {
    if (error instanceof CommanderError) return codeOf(error)
    if (terminal.interrupted.aborted) return 130
    terminal.err(`${oneLine(textOf(error))}\n`)
    return error instanceof OptionsError ? 2 : 1
  }
}

/** Help and the version are no failures. The message of any other error is printed already. */
function codeOf({ exitCode }: CommanderError): number {
  return exitCode === 0 ? 0 : 2
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*\n\s*/g, ' ').trim()
}
