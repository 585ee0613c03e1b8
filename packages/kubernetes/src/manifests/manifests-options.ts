import { OptionsError } from '@tenure/core'
import { assertBoolean, assertKnownKeys } from '@tenure/core/internal'
import { assertDnsLabel, assertDnsSubdomain } from '../client/dns-name.ts'

/** Options of {@link manifests}. */
export interface ManifestsOptions {
  /** Name of the Lease and of all objects of the program. An RFC 1123 label. */
  readonly name: string
  /** Namespace of all objects. It must exist. */
  readonly namespace: string
  /** The container image of the program. */
  readonly image: string
  /** How many replicas stand for election. @default 2 */
  readonly replicas?: number
  /** Names of further Leases that the same process stands for. @default none */
  readonly others?: readonly string[]
  /** Whether the leases use `proveDeath`, which needs the right to read Pods. @default false */
  readonly proveDeath?: boolean
  /** Whether replicas see that their own Pod is being deleted, which needs the right to read Pods. @default false */
  readonly watchPod?: boolean
  /** Whether replicas see that their node is drained. Implies `watchPod`, and adds a ClusterRole with the right to read nodes. @default false */
  readonly watchNode?: boolean
  /** Whether a `lifeLock()` keeps the leases, in ConfigMaps. @default false */
  readonly forLife?: boolean
  /** The `strategy` of the leases. `OldestEmulationVersion` needs rights on LeaseCandidates. @default none */
  readonly strategy?: string
  /** Whether the program is in a `membership()`, also that of its `endpoints()`. @default false */
  readonly members?: boolean
  /** The Service of `endpoints()`. Not made here: it may belong to somebody else. @default none */
  readonly endpoints?: string
  /** `ops.port` of the manager, the port of the probes. @default 8080 */
  readonly opsPort?: number
  /** `drainTimeoutMs` of the lease; of several, the longest. @default 20000 */
  readonly drainTimeoutMs?: number
  /** `abortGraceMs` of the lease; of several, the longest. @default 4000 */
  readonly abortGraceMs?: number
  /** `cleanupTimeoutMs` of the lease; of several, the longest. @default 4000 */
  readonly cleanupTimeoutMs?: number
}

/** {@link ManifestsOptions} with every default filled in. */
export type ResolvedManifestsOptions = Required<Omit<ManifestsOptions, Optional>> & Pick<ManifestsOptions, Optional>

type Optional = 'strategy' | 'endpoints'

const KEYS: readonly (keyof ManifestsOptions)[] = [
  'name',
  'namespace',
  'image',
  'replicas',
  'others',
  'proveDeath',
  'watchPod',
  'watchNode',
  'forLife',
  'strategy',
  'members',
  'endpoints',
  'opsPort',
  'drainTimeoutMs',
  'abortGraceMs',
  'cleanupTimeoutMs',
]

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveManifestsOptions(options: ManifestsOptions): ResolvedManifestsOptions {
  assertKnownKeys('`manifests()`', options, KEYS)
  const { name, namespace, image, others = [], proveDeath = false, forLife = false, members = false } = options
  const { watchNode = false, watchPod = watchNode } = options
  // The name is also that of a container, which is a label.
  assertDnsLabel('name', name)
  assertDnsLabel('namespace', namespace)
  for (const other of others) assertDnsSubdomain('others', other)
  if (typeof image !== 'string' || image.trim() === '') {
    throw OptionsError.expected(`\`image\` to be the name of a container image`, image)
  }
  assertBoolean('forLife', forLife)
  assertBoolean('members', members)
  assertBoolean('watchNode', watchNode)
  assertBoolean('watchPod', watchPod)
  return {
    name,
    namespace,
    image,
    others,
    proveDeath,
    watchPod,
    watchNode,
    forLife,
    members,
    ...strategyIn(options),
    ...endpointsIn(options),
    replicas: wholeNumber(options, 'replicas'),
    opsPort: wholeNumber(options, 'opsPort'),
    drainTimeoutMs: wholeNumber(options, 'drainTimeoutMs'),
    abortGraceMs: wholeNumber(options, 'abortGraceMs'),
    cleanupTimeoutMs: wholeNumber(options, 'cleanupTimeoutMs'),
  }
}

function strategyIn({ strategy }: ManifestsOptions): Pick<ManifestsOptions, 'strategy'> {
  if (strategy === undefined) return {}
  if (typeof strategy === 'string' && strategy !== '') return { strategy }
  throw OptionsError.expected('`strategy` to be the name of a strategy', strategy)
}

/** A Service has the name of a DNS label. */
function endpointsIn({ endpoints }: ManifestsOptions): Pick<ManifestsOptions, 'endpoints'> {
  if (endpoints === undefined) return {}
  assertDnsLabel('endpoints', endpoints)
  return { endpoints }
}

const DAY_MS = 86_400_000

/** The options that are whole numbers, with their defaults and bounds. */
const WHOLE_NUMBERS = {
  replicas: { fallback: 2, from: 1, to: 1000 },
  opsPort: { fallback: 8080, from: 1, to: 65_535 },
  drainTimeoutMs: { fallback: 20_000, from: 0, to: DAY_MS },
  abortGraceMs: { fallback: 4000, from: 0, to: DAY_MS },
  cleanupTimeoutMs: { fallback: 4000, from: 0, to: DAY_MS },
}

function wholeNumber(options: ManifestsOptions, option: keyof typeof WHOLE_NUMBERS): number {
  const { fallback, from, to } = WHOLE_NUMBERS[option]
  const value = options[option] ?? fallback
  if (Number.isInteger(value) && value >= from && value <= to) return value
  throw OptionsError.expected(`\`${option}\` to be a whole number between ${from} and ${to}`, value)
}
