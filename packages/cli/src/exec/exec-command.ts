import { type Command, Option } from 'commander'
import { addCommand } from '../add-command.ts'
import type { Invocation } from '../terminal.ts'
import { leavePid1 } from './container-init.ts'
import type { ExecFlags } from './exec-options.ts'

/** Adds `tenure exec`. */
export function addExec(program: Command, invocation: Invocation): void {
  addCommand(program, {
    usage: 'exec <command> [arguments...]',
    does: 'run a program while this process leads a lease; the program gets the epoch in TENURE_EPOCH, and the lease is released when nothing of it runs',
    examples: ['tenure exec --lease backup -n ops -- ./backup.sh --all'],
  })
    .option('--lease <name>', 'name of the lease; default: TENURE_LEASE')
    .option('-n, --namespace <name>', 'its namespace; default: that of the Pod or of the kubeconfig')
    .option('--kubeconfig <file>', 'the kubeconfig; default: as kubectl, or the account of the Pod')
    .option('--context <name>', 'the context of the kubeconfig; default: the current one')
    .addOption(
      new Option(
        '--on-loss <what>',
        'what follows a term that was lost or given up: run the program again in the next term, or exit',
      )
        .choices(['restart', 'exit'])
        .default('restart'),
    )
    .option('--stop-signal <name>', 'what the program gets when the term ends, as SIGINT; default: SIGTERM')
    .option(
      '--max-restarts <n>',
      'restarts of a failing program within a minute, before other replicas lead; default: 5',
    )
    .option('--ops-port <port>', 'serve health checks and metrics on this port; default: none')
    .option('--lease-duration-ms <ms>', 'how long others wait after a crash; default: 15000')
    .option('--drain-timeout-ms <ms>', 'time between the stop signal and SIGKILL of the program; default: 20000')
    .option('--abort-grace-ms <ms>', 'time between SIGKILL and the end of a lost lease; default: 4000')
    .option('--identity <text>', 'identity of this replica; default: host and a UUID')
    .option('--revision <text>', 'what this replica runs; a free lease goes to the newest revision first')
    .option('--zone <text>', 'where this replica runs')
    .option('--feature-gates <list>', 'as A=true,B=false')
    .option('--log-level <level>', 'debug, info, warn, error or silent; default: info')
    .action(async (file: string, args: string[], flags: ExecFlags) => {
      leavePid1()
      const { exec } = await import('./exec.ts')
      invocation.exitCode = await exec({ file, args, flags }, invocation.terminal)
    })
}
