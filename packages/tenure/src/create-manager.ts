import { WriteStream } from 'node:tty'
import type { KubeConfig } from '@kubernetes/client-node'
import { type Candidacy, type LeaseOptions, type Logger, Manager, type ManagerOptions } from '@tenure/core'
import { safeLogger } from '@tenure/core/internal'
import { createOps, type Ops, type OpsOptions, TermRegistries } from '@tenure/ops'
import pino from 'pino'
import { KubeConfigError } from '@tenure/kubernetes'
import { Cluster } from './cluster.ts'
import { exitCodeOf, exitProcess, exitWithCodeUnlessHandled } from './exit-code.ts'
import { leaseEvents } from './lease-event-extension.ts'
import { assertKubernetesNames, type CreateManagerOptions, type ResolvedOptions, resolveOptions } from './options.ts'
import { standsTwice, watchExit } from './running-managers.ts'
import { signalExtension } from './signals.ts'
import { terminalLogger } from './terminal-log.ts'
import { traceExtension } from './trace-extension.ts'

/**
 * Makes the manager of this process, with Kubernetes, the operations port, signals, exit codes and logs.
 *
 * Resolves and checks all options, flags and variables at once. Reads, opens and starts nothing before `start()`.
 *
 * @throws OptionsError naming the option that is wrong. If you do not catch it, the process exits with code 2.
 *
 * @example
 * ```ts
 * const manager = createManager({ lease: { name: 'janitor', namespace: 'ops' } })
 * manager.register(() => new Janitor())
 * await manager.start()
 * ```
 */
export function createManager(
  options?: CreateManagerOptions & { readonly ops?: OpsOptions },
): ProcessManager & { readonly ops: Ops }
export function createManager(options?: CreateManagerOptions): ProcessManager
export function createManager(options: CreateManagerOptions = {}): ProcessManager {
  try {
    return wire(options, resolveOptions(options))
  } catch (error) {
    exitWithCodeUnlessHandled(error)
    throw error
  }
}

/** The manager of a process. A failure that you do not catch sets the exit code of the process. */
export class ProcessManager extends Manager {
  /** The operations port. With `ops: { port: false }` it opens no port, and your own server serves its checks and metrics. Undefined with `ops: false`. */
  readonly ops: Ops | undefined
  readonly #cluster: Cluster | undefined

  constructor(
    options: ManagerOptions,
    { ops, cluster }: { readonly ops: Ops | undefined; readonly cluster: Cluster | undefined },
  ) {
    super(options)
    this.ops = ops
    this.#cluster = cluster
  }

  /**
   * How the manager reaches the API server: the given kubeconfig, or the one that it found. For the clients of controllers; the
   * traffic of the leases has connections of its own. If the manager found it, the first use loads client-node.
   * @throws KubeConfigError before the start, when none was given: it is read then. Also when the leases are kept by a `lock`.
   */
  get kubeConfig(): KubeConfig {
    if (this.#cluster === undefined) throw new KubeConfigError('The leases are kept by `lock`, not in a cluster')
    return this.#cluster.kubeConfig
  }

  /**
   * The namespace of the manager's own lease: its option, or that of the Pod, or of the kubeconfig's context, or `default`.
   * @throws KubeConfigError before the start, because the kubeconfig is read then. Also when the leases are kept by a `lock`.
   */
  get namespace(): string {
    const [own] = this.candidacies
    if (this.#cluster === undefined || own === undefined)
      throw new KubeConfigError('The leases are kept by `lock`, not in a cluster')
    return this.#cluster.namespaceOf(own.leaseOptions)
  }

  /** Also checks names and labels by the rules of Kubernetes if the leases are stored there. */
  override candidacy(lease: LeaseOptions): Candidacy {
    if (this.#cluster !== undefined) assertKubernetesNames(lease)
    return super.candidacy(lease)
  }

  override start(): Promise<void> {
    const running = super.start()
    running.catch(exitWithCodeUnlessHandled)
    watchExit(this, running)
    return running
  }
}

function wire(options: CreateManagerOptions, resolved: ResolvedOptions): ProcessManager {
  const { identity, lease, featureGates, kubeConfigPath, env } = resolved
  const bareLogger = createLogger(options.logger, resolved)
  const logger = bareLogger.child({ identity })
  const ops = resolved.ops && createOps({ logger, ...resolved.ops })
  const opsPort = (): number | undefined => ops?.address?.port
  const kubernetes = new Cluster({ kubeConfig: options.kubeConfig, kubeConfigPath, env, identity, logger, opsPort })
  const cluster = options.lock === undefined ? kubernetes : undefined
  const makeLock = options.lock ?? ((leaseOptions: LeaseOptions) => kubernetes.lock(leaseOptions))
  const createLock: ManagerOptions['createLock'] = (leaseOptions) => {
    const lock = makeLock(leaseOptions, { logger })
    if (standsTwice(manager, `${cluster?.server} ${lock.description}`)) warnOfSecond(logger, leaseOptions.name)
    return lock
  }
  const manager: ProcessManager = new ProcessManager(
    {
      ...describeReplica(resolved),
      lease,
      featureGates,
      // The manager adds the identity to its own lines.
      logger: bareLogger,
      createLock,
      terminate: (error) => exitProcess(exitCodeOf(error)),
      ...supervision(options),
    },
    { ops, cluster },
  )
  traceBy(manager, env, logger)
  if (options.signals !== false) manager.use(signalExtension(logger))
  // `metrics(term)` also works without a port.
  manager.use(ops ?? new TermRegistries())
  if (cluster !== undefined) manager.use(cluster)
  if (cluster !== undefined && options.events !== false) manager.use(leaseEvents({ cluster, identity, logger }))
  return manager
}

function traceBy(manager: ProcessManager, env: NodeJS.ProcessEnv, logger: Logger): void {
  const path = env['TENURE_TRACE']
  if (path !== undefined && path !== '') manager.use(traceExtension(path, logger))
}

/** What the manager tells other replicas about this one. */
function describeReplica({
  identity,
  revision,
  zone,
}: ResolvedOptions): Pick<ManagerOptions, 'identity' | 'revision' | 'zone'> {
  return { identity, ...(revision !== undefined && { revision }), ...(zone !== undefined && { zone }) }
}

function warnOfSecond(logger: Logger, lease: string): void {
  logger.warn(
    { lease, event: 'second-manager' },
    `two managers of this process stand for the lease ${lease}, and only one of them leads at a time. Register all controllers of ` +
      'a lease with one manager',
  )
}

function supervision({
  onWedged,
  restart,
  groups,
  watchdog,
  rollout,
}: CreateManagerOptions): Pick<ManagerOptions, 'onWedged' | 'restart' | 'groups' | 'watchdog' | 'rollout'> {
  return {
    ...(onWedged !== undefined && { onWedged }),
    ...(restart !== undefined && { restart }),
    ...(groups !== undefined && { groups }),
    ...(watchdog !== undefined && { watchdog }),
    ...(rollout !== undefined && { rollout }),
  }
}

/** Writes synchronously, because the last lines before an exit matter most. */
function createLogger(given: Logger | undefined, { logLevel, env }: ResolvedOptions): Logger {
  return safeLogger(given ?? defaultLogger(logLevel, env))
}

/** For people in a terminal, otherwise for programs. */
function defaultLogger(level: ResolvedOptions['logLevel'], env: NodeJS.ProcessEnv): Logger {
  const destination = pino.destination({ sync: true })
  // `tenure dev` sets the variable if it writes the output of its replicas to a terminal.
  if (!process.stdout.isTTY && env['_TENURE_TERMINAL'] !== '1') return pino({ level }, destination)
  // Not by the stream of the process: if the terminal is gone, that ends the process.
  const write = (text: string) => destination.write(text)
  return terminalLogger({
    level,
    env,
    terminal: { write, hasColors: (given) => WriteStream.prototype.hasColors(given) },
  })
}
