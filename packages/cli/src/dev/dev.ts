import { resolve } from 'node:path'
import type { ApiServer } from '@tenure/api-server'
import { onAbort, textOf } from '@tenure/core/internal'
import { Cluster } from '../cluster/cluster.ts'
import { listLeases, type StoredLease } from '../cluster/leases.ts'
import { ClusterPage } from '../page/page-cluster.ts'
import { handOver } from '../step-down/hand-over.ts'
import { aborted, type Invocation, type Terminal } from '../terminal.ts'
import { type DevFlags, type DevProgram, devProgram, PAGE_PORT, portFlag } from './dev-flags.ts'
import { DevKeys, KEYS_HELP } from './dev-keys.ts'
import { DevLauncher } from './dev-launcher.ts'
import { AdminKubeConfig, startServer } from './dev-server.ts'
import { FileWatch } from './file-watch.ts'
import { Fleet, isReplica, nameOfReplica } from './fleet.ts'
import { JoinedPrograms } from './joined-programs.ts'
import { ShownReplicas } from './shown-replicas.ts'

/** How long to wait for the next leader after a key. */
const HANDOVER_MS = 60_000

/**
 * Runs an embedded API server until it is interrupted, and replicas of a program, if one is given. The server creates a namespace when
 * the first object is written into it.
 *
 * Writes a kubeconfig that holds the key of the administrator and that only its owner can read. Removes the file at the end, when no
 * process of the program is left.
 *
 * @throws OptionsError for an invalid flag, or a program that cannot be started.
 * @throws Error if the server cannot start or the kubeconfig cannot be written. The message names the flag to change.
 */
export async function dev(command: readonly string[], flags: DevFlags, invocation: Invocation): Promise<void> {
  const { terminal } = invocation
  const program = devProgram(command, flags, terminal.env['PATH'])
  const server = await startServer(flags)
  try {
    const kubeConfig = await AdminKubeConfig.write(server, resolve(flags.kubeconfig ?? 'tenure-kubeconfig.yaml'))
    try {
      await serve(program, { server, kubeConfig, flags, terminal })
    } finally {
      await kubeConfig[Symbol.asyncDispose]()
    }
  } finally {
    await server.stop()
  }
}

type Served = Omit<DevContext, 'quit'>

async function serve(program: DevProgram | undefined, served: Served): Promise<void> {
  const { terminal } = served
  const quit = new AbortController()
  const forget = onAbort(terminal.interrupted, () => quit.abort(terminal.interrupted.reason))
  const context = { ...served, quit, terminal: { ...terminal, interrupted: quit.signal } }
  try {
    await withPage(program, context)
  } finally {
    forget()
  }
}

/** The page and the replicas. The page ends last. */
async function withPage(program: DevProgram | undefined, context: DevContext): Promise<void> {
  const { server, kubeConfig, terminal, flags } = context
  const shown = new ShownReplicas(terminal)
  const page = await ClusterPage.open({
    flags: { kubeconfig: kubeConfig.path },
    allNamespaces: true,
    allowsActions: true,
    port: portFlag('--page-port', flags.pagePort) ?? PAGE_PORT,
    orFreePort: flags.pagePort === undefined,
    terminal,
    askReplica: shown.explain,
    fleet: () => shown,
  })
  try {
    const onChange = (): void => page.server.showReplicas()
    const project = kubeConfig.path
    const joined = await JoinedPrograms.open({ server, project, terminal, onChange, others: shown.started })
    shown.joined = joined
    try {
      await followAndRun(program, { ...context, shown, onChange }, page)
    } finally {
      await joined[Symbol.asyncDispose]()
    }
  } finally {
    await page[Symbol.asyncDispose]()
  }
}

async function followAndRun(
  program: DevProgram | undefined,
  context: ProgramContext,
  page: ClusterPage,
): Promise<void> {
  const { server, kubeConfig, terminal, quit, shown, flags } = context
  terminal.out(
    `API server: ${server.url}\n${pageLine(page, flags)}\n\n  export KUBECONFIG=${kubeConfig.path}\n\n` +
      'The server creates a namespace when you write the first object into it. A cluster answers 404 instead.\n' +
      (shown.joined?.isOpen
        ? 'A program of Tenure that you start with TENURE_DEV=1 finds the server by itself.\n'
        : '') +
      'Press Ctrl-C to stop the server.\n',
  )
  const following = page.follow().catch((error: unknown) => {
    terminal.err(`${textOf(error)}\n`)
    quit.abort(error)
  })
  try {
    if (program === undefined) await aborted(quit.signal)
    else await runProgram(program, context)
  } finally {
    quit.abort(new Error('The end'))
    await following
  }
}

function pageLine({ server: { url, port } }: ClusterPage, { pagePort }: DevFlags): string {
  const isOther = pagePort === undefined && port !== PAGE_PORT
  return `Page: ${url}${isOther ? ` (port ${PAGE_PORT} is in use)` : ''}`
}

interface DevContext {
  readonly server: ApiServer
  readonly kubeConfig: AdminKubeConfig
  readonly quit: AbortController
  readonly flags: DevFlags
  readonly terminal: Terminal
}

/** Runs the replicas until the end, and ends them. */
async function runProgram(program: DevProgram, context: ProgramContext): Promise<void> {
  const cluster = Cluster.open({ kubeconfig: context.kubeConfig.path }, context.terminal)
  const launcher = await DevLauncher.create(program, context.server, context.terminal)
  try {
    await runFleet(program, launcher, { ...context, cluster })
  } finally {
    await launcher[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
  }
}

interface ProgramContext extends DevContext {
  readonly shown: ShownReplicas
  /** Called when the state of a replica has changed. */
  readonly onChange: () => void
}

interface FleetContext extends ProgramContext {
  readonly cluster: Cluster
}

async function runFleet(program: DevProgram, launcher: DevLauncher, context: FleetContext): Promise<void> {
  const { server, terminal, cluster, shown, onChange } = context
  let restart = (): void => {}
  // The paths are checked before anything is started.
  const files = watchFiles(program, context, () => restart())
  const leaders = () => leadersOf(cluster)
  const fleet = new Fleet({
    size: program.replicas,
    faults: server.faults,
    launch: (name) => launcher.launch(name),
    isReady: (name) => launcher.isReady(name),
    leaders,
    say: (name, text) => launcher.say(name, text),
    stopTimeoutMs: program.stopTimeoutMs,
    terminal,
    onChange,
  })
  shown.own = { fleet, launcher }
  restart = () => void fleet.restart().catch(() => {})
  try {
    await obeyKeys(fleet, context)
  } finally {
    files[Symbol.dispose]()
    await fleet.stop()
  }
}

function watchFiles(
  { watch }: DevProgram,
  { kubeConfig, flags, terminal }: DevContext,
  restart: () => void,
): FileWatch {
  const ignored = [kubeConfig.path, ...(flags.file === undefined ? [] : [resolve(flags.file)])]
  const onChange = (path: string): void => {
    terminal.err(`${path} has changed: restarting the replicas, one after the other.\n`)
    restart()
  }
  return new FileWatch({ paths: watch, ignored, onChange }, terminal)
}

/** Obeys the keys until nothing of the fleet is left. */
async function obeyKeys(fleet: Fleet, context: FleetContext): Promise<void> {
  const { terminal, quit, cluster } = context
  const keys = new DevKeys(
    {
      names: fleet.names,
      leaders: () => leadersOf(cluster),
      stepDown: () => stepDownEach(context),
      kill: (name) => fleet.kill(name),
      togglePause: (name) => fleet.togglePause(name),
      toggleCut: (name) => fleet.toggleCut(name),
      quit: () => quit.abort(new Error('Quit')),
      hurry: () => fleet.hurry(),
    },
    terminal,
  )
  if (terminal.keys !== undefined) terminal.err(KEYS_HELP)
  const forget = terminal.keys?.((key) => void keys.press(key))
  try {
    await aborted(quit.signal)
    await fleet.stop()
  } finally {
    forget?.()
  }
}

/** The leases that a replica of the program holds. */
async function heldLeases(cluster: Cluster): Promise<readonly StoredLease[]> {
  const leases = await listLeases(cluster, '')
  return leases.filter(({ lease }) => isReplica(lease.record.holderIdentity))
}

async function leadersOf(cluster: Cluster): Promise<ReadonlySet<string>> {
  const held = await heldLeases(cluster)
  return new Set(held.map(({ lease }) => nameOfReplica(lease.record.holderIdentity)))
}

async function stepDownEach({ cluster, kubeConfig, terminal }: FleetContext): Promise<void> {
  const leases = await heldLeases(cluster)
  if (leases.length === 0) terminal.err('No replica leads.\n')
  const order = { timeoutMs: HANDOVER_MS, isDetached: false }
  await Promise.all(
    leases.map(async (lease) => {
      const own = Cluster.open({ kubeconfig: kubeConfig.path, namespace: lease.namespace }, terminal)
      try {
        await handOver(own, lease, order, { terminal, exitCode: 0 })
      } finally {
        await own[Symbol.asyncDispose]()
      }
    }),
  )
}
