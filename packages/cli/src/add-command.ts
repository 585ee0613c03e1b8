import type { Command } from 'commander'

/** How a command shows itself in its help. */
export interface CommandHelp {
  /** The name and the arguments, as in `status [lease]`. */
  readonly usage: string
  /** What it does, in a few words. */
  readonly does: string
  /** One or more command lines. */
  readonly examples: readonly string[]
}

/** Adds a command with its help. */
export function addCommand(program: Command, { usage, does, examples }: CommandHelp): Command {
  const lines = examples.map((example) => `  $ ${example}`).join('\n')
  return program
    .command(usage)
    .description(does)
    .addHelpText('after', `\n${examples.length > 1 ? 'Examples' : 'Example'}:\n${lines}`)
}

/** The flags of a command that talks to a cluster. */
export interface ClusterFlags {
  readonly kubeconfig?: string
  readonly context?: string
  readonly namespace?: string
}

/** Adds a command that talks to a cluster. */
export function addClusterCommand(program: Command, help: CommandHelp): Command {
  return addCommand(program, help)
    .option('-n, --namespace <name>', 'the namespace of the lease; default: that of the context')
    .option('--context <name>', 'the context of the kubeconfig; default: the current one')
    .option('--kubeconfig <file>', 'the kubeconfig; default: as kubectl')
}
