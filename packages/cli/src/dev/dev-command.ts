import type { Command } from 'commander'
import { addCommand } from '../add-command.ts'
import type { Invocation } from '../terminal.ts'
import type { DevFlags } from './dev-server.ts'

/** Adds `tenure dev`. */
export function addDev(program: Command, { terminal }: Invocation): void {
  addCommand(program, {
    usage: 'dev',
    does: 'run an embedded Kubernetes API server on this machine until Ctrl-C; the server creates a namespace when the first object is written into it',
    examples: ['tenure dev --port 6443 --file state.json'],
  })
    .option('--port <port>', 'TCP port on 127.0.0.1; default: any free port')
    .option('--file <file>', 'store the objects in this file; default: in memory only')
    .option('--kubeconfig <file>', 'write the kubeconfig to this file; default: tenure-kubeconfig.yaml')
    .action(async (flags: DevFlags) => (await import('./dev-server.ts')).dev(flags, terminal))
}
