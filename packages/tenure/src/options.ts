import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type LeaseOptions, type Logger, type ManagerOptions, OptionsError } from '@tenure/core'
import { assertKnownKeys, type FeatureGateSettings, LEASE_OPTION_NAMES, parseFeatureGates } from '@tenure/core/internal'
import { type KubeConfigLike } from '@tenure/kubernetes'
import { assertDnsLabel, assertDnsSubdomain, assertLabels, supportedKubeConfig } from '@tenure/kubernetes/internal'
import type { OpsOptions } from '@tenure/ops'
import { mayBeCoordinated } from './cluster.ts'
import { readEnvironment, readFlags, type TextSettings } from './environment.ts'

/** What `createManager()` gives a lock of your own. */
export interface LockContext {
  /** The logger of the manager. Its lines name the identity of this replica. */
  readonly logger: Logger
}

/**
 * Options of `createManager()`. An option takes precedence over its flag, the flag over the environment, the environment over the default.
 */
export interface CreateManagerOptions extends Pick<
  ManagerOptions,
  'onWedged' | 'restart' | 'groups' | 'watchdog' | 'rollout'
> {
  /** The lease to compete for. `name` may also come from `--lease` or `TENURE_LEASE`, `namespace` from `--namespace` or `TENURE_NAMESPACE`. */
  readonly lease?: Partial<LeaseOptions>
  /** Unique to this start of this process. @default `--identity`, `TENURE_IDENTITY`, `<POD_NAME or hostname>_<uuid>` */
  readonly identity?: string
  /**
   * What this replica runs: 1 to 253 printable characters, equal for all replicas of one rollout. A free lease goes to a replica of the newest
   * revision first. @default `--revision`, `TENURE_REVISION`, the hash of the template in the name of a Deployment's Pod, none
   */
  readonly revision?: string
  /**
   * Where this replica runs: 1 to 63 printable characters. Of several standbys of the newest revision, those in the zone of the present leader
   * try first. @default `--zone`, `TENURE_ZONE`, none
   */
  readonly zone?: string
  /**
   * Makes the lock of a lease, for leases that are not stored in a Lease of a cluster: `({ name }) => new FileLock({ path })`. A lock that
   * logs gets the logger of the manager: `({ name }, { logger }) => lifeLock({ name, logger })`. Tenure then reads no kubeconfig and
   * writes no Events. Every call must return a new lock. @default a `LeaseLock` for each
   */
  readonly lock?: (lease: LeaseOptions, context: LockContext) => ReturnType<ManagerOptions['createLock']>
  /** How to reach the API server. @default `--kubeconfig`, `KUBECONFIG`, the Pod's service account, `~/.kube/config`; read at the start */
  readonly kubeConfig?: KubeConfigLike
  /**
   * Which behaviours are on.
   * @default `--feature-gates=A=true,B=false`, `TENURE_FEATURE_GATES`, all at their default; settings from several places add up
   */
  readonly featureGates?: FeatureGateSettings
  /** The port for `/livez`, `/readyz`, `/healthz`, `/explain` and `/metrics`; `false` for no port and no metrics of Tenure. */
  readonly ops?: OpsOptions | false
  /** Whether to write Events on the lease when leadership changes. @default true */
  readonly events?: boolean
  /** Whether SIGTERM and SIGINT stop the manager while it runs. @default true */
  readonly signals?: boolean
  /** Receives all log lines. @default pino, JSON on the standard output; in a terminal, text for people */
  readonly logger?: Logger
  /** The level of the default logger. @default `--log-level`, `TENURE_LOG_LEVEL`, 'info' */
  readonly logLevel?: string
  /** The environment variables. @default process.env */
  readonly env?: NodeJS.ProcessEnv
  /** The command line with flags. Tenure ignores flags that are not its own. @default the arguments of the process */
  readonly argv?: readonly string[]
}

/** {@link CreateManagerOptions} with flags, environment and defaults filled in. */
export interface ResolvedOptions {
  readonly lease: LeaseOptions
  readonly identity: string
  readonly revision: string | undefined
  readonly zone: string | undefined
  readonly kubeConfigPath: string | undefined
  readonly featureGates: FeatureGateSettings
  readonly ops: OpsOptions | undefined
  readonly logLevel: (typeof LOG_LEVELS)[number]
  readonly env: NodeJS.ProcessEnv
}

/** The levels of the default logger. */
const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const

const OPTION_NAMES = [
  'lease',
  'identity',
  'revision',
  'zone',
  'rollout',
  'lock',
  'kubeConfig',
  'featureGates',
  'ops',
  'events',
  'signals',
  'logger',
  'logLevel',
  'env',
  'argv',
  'onWedged',
  'restart',
  'groups',
  'watchdog',
] as const satisfies (keyof CreateManagerOptions)[]

const OPS_OPTION_NAMES = [
  'port',
  'host',
  'registries',
  'checkTimeoutMs',
  'processMetrics',
  'clock',
  'logger',
] as const satisfies (keyof OpsOptions)[]

/** Fills in flags, environment and defaults, and checks every value. Does no I/O. @throws OptionsError naming what is wrong. */
export function resolveOptions(options: CreateManagerOptions): ResolvedOptions {
  assertKnownKeys('`createManager()`', options, OPTION_NAMES, { lease: LEASE_OPTION_NAMES, ops: OPS_OPTION_NAMES })
  assertTypes(options)
  const env = options.env ?? process.env
  const environment = readEnvironment(env)
  const flags = readFlags(options.argv ?? process.argv.slice(2))
  const text = { ...environment, ...flags }
  const joinsDev = isDev(env)
  if (options.kubeConfig !== undefined) supportedKubeConfig(options.kubeConfig)
  if (options.lock !== undefined) assertFitsLock(options, flags.kubeconfig)
  return {
    lease: resolveLease(options, text),
    identity: resolveIdentity(options, text, env),
    revision: resolveRevision(options, text, env),
    zone: options.zone === undefined ? text.zone : options.zone,
    kubeConfigPath: flags.kubeconfig,
    featureGates: resolveFeatureGates(environment, flags, options),
    ops:
      options.ops === false ? undefined : resolveOps(options.ops ?? {}, text.opsPort ?? (joinsDev ? '0' : undefined)),
    logLevel: resolveLogLevel(options, text),
    env,
  }
}

/** Adds up the settings of all sources; a later source wins. */
function resolveFeatureGates(
  environment: TextSettings,
  flags: TextSettings,
  { featureGates }: CreateManagerOptions,
): FeatureGateSettings {
  return {
    ...parseFeatureGates(environment.featureGates ?? ''),
    ...parseFeatureGates(flags.featureGates ?? ''),
    ...featureGates,
  }
}

/** Checks the options that no other function checks. */
function assertTypes({ events, signals, ops, lease, featureGates, env, argv }: CreateManagerOptions): void {
  assertEach({ events, signals, 'lease.proveDeath': lease?.proveDeath }, isBoolean, 'true or false')
  assertEach({ featureGates, env }, isObject, 'an object')
  assertEach({ argv }, Array.isArray, 'an array')
  if (ops !== false) assertEach({ ops }, isObject, 'an object such as `{ port: 8080 }`, or false')
}

/** Checks the values that are given. @throws OptionsError naming the first that is wrong, and what is expected of it. */
function assertEach(
  values: Readonly<Record<string, unknown>>,
  isValid: (value: unknown) => boolean,
  expected: string,
): void {
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && !isValid(value)) throw OptionsError.expected(`\`${name}\` to be ${expected}`, value)
  }
}

function isBoolean(value: unknown): boolean {
  return typeof value === 'boolean'
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}

/** Refuses options that apply only to leases in a cluster. */
function assertFitsLock({ lock, kubeConfig, events, lease }: CreateManagerOptions, kubeConfigPath?: string): void {
  if (typeof lock !== 'function') {
    throw OptionsError.expected(`\`lock\` to be a function that makes the lock of a lease`, lock)
  }
  const beside = Object.entries({
    kubeConfig: kubeConfig !== undefined,
    '--kubeconfig': kubeConfigPath !== undefined,
    'events: true': events === true,
    'lease.labels': lease?.labels !== undefined,
    'lease.proveDeath': lease?.proveDeath === true,
    "lease.coordination: 'server'": lease?.coordination === 'server',
  })
  const [contradiction] = beside.filter(([, isGiven]) => isGiven)
  if (contradiction === undefined) return
  throw new OptionsError(
    `Expected either \`lock\` or \`${contradiction[0]}\`, which is about leases in a cluster, got both`,
  )
}

function resolveLease({ lease = {}, lock }: CreateManagerOptions, text: TextSettings): LeaseOptions {
  assertKnownKeys('`lease`', lease, LEASE_OPTION_NAMES)
  const name = lease.name ?? text.lease
  if (name === undefined) {
    throw new OptionsError('Expected the name of a lease in `lease.name`, `--lease` or `TENURE_LEASE`, got none')
  }
  const namespace = lease.namespace ?? text.namespace
  const resolved = namespace === undefined ? { ...lease, name } : { ...lease, name, namespace }
  if (lock === undefined) assertKubernetesNames(resolved)
  return resolved
}

/** Accepts what Kubernetes accepts as the name, the namespace and the labels of a lease. @throws OptionsError otherwise */
export function assertKubernetesNames({ name, namespace, labels }: LeaseOptions): void {
  assertDnsSubdomain('lease.name', name)
  if (namespace !== undefined) assertDnsLabel('lease.namespace', namespace)
  if (labels !== undefined) assertLabels('lease.labels', labels)
}

function resolveIdentity(options: CreateManagerOptions, text: TextSettings, env: NodeJS.ProcessEnv): string {
  const resolved = options.identity ?? text.identity ?? `${podName(env)}_${randomUUID()}`
  if (typeof resolved !== 'string' || resolved.trim() === '') {
    throw OptionsError.expected(`\`identity\` to be a text that is not empty`, resolved)
  }
  const isCandidate = options.lock === undefined && options.lease !== undefined && mayBeCoordinated(options.lease)
  if (!isCandidate || CANDIDATE_NAME.test(resolved)) return resolved
  const rule = 'to name a LeaseCandidate: 1 to 253 letters, digits, `-`, `_` and `.`'
  throw OptionsError.expected(`\`identity\` ${rule}`, resolved, {
    remedy: "With `lease.coordination: 'peers'` it may be any text",
  })
}

/** What kube-apiserver accepts as the name of a LeaseCandidate. */
const CANDIDATE_NAME = /^(?!\.{1,2}$)[-._a-zA-Z0-9]{1,253}$/

function resolveRevision(
  { revision }: CreateManagerOptions,
  text: TextSettings,
  env: NodeJS.ProcessEnv,
): string | undefined {
  return revision === undefined ? (text.revision ?? templateHash(podName(env))) : revision
}

function podName(env: NodeJS.ProcessEnv): string {
  return env['POD_NAME'] || hostname()
}

/** The characters of generated names (`k8s.io/apimachinery/pkg/util/rand`). */
const GENERATED = '[bcdfghjklmnpqrstvwxz2456789]'

/** The label `pod-template-hash` of a Deployment's Pod, which is part of its name. */
function templateHash(name: string): string | undefined {
  return new RegExp(`-(${GENERATED}{8,10})-${GENERATED}{5}$`).exec(name)?.[1]
}

/** Whether the process is to join a running `tenure dev`: then several run on one machine, and each takes a free port. @throws OptionsError */
function isDev(env: NodeJS.ProcessEnv): boolean {
  const value = env['TENURE_DEV']
  if (value === undefined || value === '') return false
  if (value === '1') return true
  throw OptionsError.expected('`TENURE_DEV` to be `1`, or not set', value)
}

/** The operations port checks all other options itself. */
function resolveOps(ops: OpsOptions, text: string | undefined): OpsOptions {
  if (ops.port !== undefined || text === undefined) return ops
  if (/^\d+$/.test(text)) return { ...ops, port: Number(text) }
  throw OptionsError.expected(`\`ops.port\` to be a TCP port between 0 and 65535`, text)
}

function resolveLogLevel(options: CreateManagerOptions, text: TextSettings): (typeof LOG_LEVELS)[number] {
  const level = options.logLevel ?? text.logLevel ?? 'info'
  const known = LOG_LEVELS.find((name) => name === level)
  if (known !== undefined) return known
  throw OptionsError.expected(`\`logLevel\` to be one of ${LOG_LEVELS.join(', ')}`, level)
}
