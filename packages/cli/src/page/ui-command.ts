import type { Command } from 'commander'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { portFlag } from '../dev/dev-flags.ts'
import type { Invocation, Terminal } from '../terminal.ts'

/** The flags of `tenure ui`. */
interface UiFlags extends ClusterFlags {
  readonly allNamespaces?: boolean
  readonly allowActions?: boolean
  readonly port?: string
}

/** Adds `tenure ui`. */
export function addUi(program: Command, { terminal }: Invocation): void {
  addClusterCommand(program, {
    usage: 'ui',
    does: 'serve a page on this machine that shows the terms of leases as they happen, until Ctrl-C',
    examples: ['tenure ui -A', 'tenure ui -n ops --port 7070 --allow-actions'],
  })
    .option('-A, --all-namespaces', 'show the leases of all namespaces')
    .option('--port <port>', 'TCP port on 127.0.0.1; default: any free port')
    .option('--allow-actions', 'let the page ask leaders to hand over; default: it only shows')
    .action((flags: UiFlags) => ui(flags, terminal))
}

async function ui(flags: UiFlags, terminal: Terminal): Promise<void> {
  const port = portFlag('--port', flags.port) ?? 0
  const { ClusterPage } = await import('./page-cluster.ts')
  const { allNamespaces = false, allowActions: allowsActions = false } = flags
  const page = await ClusterPage.open({ flags, allNamespaces, allowsActions, port, terminal })
  try {
    terminal.out(`Page: ${page.server.url}\n\nThe address contains a secret. Press Ctrl-C to stop.\n`)
    await page.follow()
  } finally {
    await page[Symbol.asyncDispose]()
  }
}
