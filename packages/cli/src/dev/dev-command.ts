import type { Command } from 'commander'
import { addCommand } from '../add-command.ts'
import type { Invocation } from '../terminal.ts'
import { type DevFlags, PAGE_PORT } from './dev-flags.ts'

/** Adds `tenure dev`. */
export function addDev(program: Command, invocation: Invocation): void {
  addCommand(program, {
    usage: 'dev [command] [arguments...]',
    does: 'run an embedded Kubernetes API server on this machine until Ctrl-C, and replicas of a program that use it; the server creates a namespace when the first object is written into it',
    examples: ['tenure dev --replicas 3 --watch src -- node src/main.js', 'tenure dev --port 6443 --file state.json'],
  })
    .option('--port <port>', 'TCP port on 127.0.0.1; default: any free port')
    .option('--file <file>', 'store the objects in this file; default: in memory only')
    .option('--kubeconfig <file>', 'write the kubeconfig to this file; default: tenure-kubeconfig.yaml')
    .option('--replicas <n>', 'how many replicas of the command to run; default: 1')
    .option(
      '--watch [path]',
      'restart the replicas, one after the other, when a file below this path changes; default: the working directory; repeatable',
      (path: string | true, before?: (string | true)[]) => [...(before ?? []), path],
    )
    .option(
      '--page-port <port>',
      `TCP port of the page on 127.0.0.1; default: ${PAGE_PORT}, or any free port if that is in use`,
    )
    .option('--stop-timeout <duration>', 'time between SIGTERM and SIGKILL of a replica', '30s')
    .action(async (file: string | undefined, args: string[], flags: DevFlags) => {
      const { dev } = await import('./dev.ts')
      await dev(file === undefined ? [] : [file, ...args], flags, invocation)
    })
}
