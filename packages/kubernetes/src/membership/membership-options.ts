import { type Clock, type Logger, OptionsError } from '@tenure/core'
import {
  assertBoolean,
  assertKnownKeys,
  type Random,
  resolveDurationMs,
  silentLogger,
  systemClock,
  systemRandom,
} from '@tenure/core/internal'
import type { KubeConfigSource } from '../client/current-settings.ts'
import { assertDnsLabel } from '../client/dns-name.ts'
import { findKubeConfig } from '../client/kubeconfig/load-kube-config.ts'
import { inClusterNamespace } from '../client/kubeconfig/service-account.ts'
import { assertLabels } from '../client/labels.ts'
import { LEASE_CLIENT_KEYS, type LeaseClientOptions } from '../locks/lease/lease-client.ts'
import { GROUP_LABEL } from './member-lease.ts'

/** Options of {@link membership}. */
export interface MembershipOptions extends Partial<LeaseClientOptions> {
  /** Name of the group: the value of the label that its Leases share, and the beginning of their names. An RFC 1123 label. */
  readonly group: string
  /** Namespace of the Leases. It must exist. @default `POD_NAMESPACE`, the namespace of the service account, `default` */
  readonly namespace?: string
  /** The address that this replica publishes: an IP address or a host name. @default none */
  readonly address?: string
  /** The version of the program that this replica publishes. @default none */
  readonly version?: string
  /** The failure domain that this replica publishes. @default none */
  readonly zone?: string
  /** Labels that this replica adds to its Lease. @default {} */
  readonly labels?: Readonly<Record<string, string>>
  /**
   * The Pod that owns the Lease, so that the garbage collector deletes the Lease with the Pod.
   * @default `POD_NAME` and `POD_UID`, if both are set
   */
  readonly pod?: { readonly name: string; readonly uid: string }
  /** Name of the container of this process, if its Pod has several and `proveDeath` is set. @default `CONTAINER_NAME` */
  readonly container?: string
  /**
   * How long a member may stay silent before it counts as gone, in milliseconds. Whole seconds. Other replicas measure it on their own
   * monotonic clocks, from when they saw the last renewal. @default 15000
   */
  readonly leaseDurationMs?: number
  /** How often this replica renews its Lease, in milliseconds. At most a third of `leaseDurationMs`. @default a third of it */
  readonly renewIntervalMs?: number
  /**
   * Whether a member is gone as soon as the kubelet reports that its container has ended. Without it, a member that crashed is gone when
   * its Lease expires. Needs the right to get, list and watch Pods. @default false
   */
  readonly proveDeath?: boolean
}

/** {@link MembershipOptions} with every default filled in. */
export interface ResolvedMembershipOptions {
  readonly group: string
  readonly namespace: string
  readonly address: string | undefined
  readonly version: string | undefined
  readonly zone: string | undefined
  readonly labels: Readonly<Record<string, string>>
  readonly pod: { readonly name: string; readonly uid: string } | undefined
  /** Where the container of this process is, for those who prove its death. */
  readonly podName: string | undefined
  readonly container: string | undefined
  readonly leaseDurationMs: number
  readonly renewIntervalMs: number
  readonly proveDeath: boolean
  readonly client: ResolvedClientOptions
}

/** {@link LeaseClientOptions} with every default filled in, but for the user agent. */
export interface ResolvedClientOptions {
  readonly kubeConfig: KubeConfigSource
  readonly userAgent?: string
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

const KEYS: readonly (keyof MembershipOptions)[] = [
  'group',
  'namespace',
  'address',
  'version',
  'zone',
  'labels',
  'pod',
  'container',
  'leaseDurationMs',
  'renewIntervalMs',
  'proveDeath',
  ...LEASE_CLIENT_KEYS,
]

const TEXTS = ['address', 'version', 'zone', 'container'] as const satisfies (keyof MembershipOptions)[]

/** A fact of this length still fits into an annotation with all others. */
const MAX_TEXT_LENGTH = 1024

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveMembershipOptions(
  options: MembershipOptions,
  env: NodeJS.ProcessEnv,
): ResolvedMembershipOptions {
  assertKnownKeys('`membership()`', options, KEYS)
  const { group, labels = {}, address, version, zone } = options
  assertDnsLabel('group', group)
  for (const name of TEXTS) assertText(name, options[name])
  assertLabels('labels', labels)
  if (GROUP_LABEL in labels) throw OptionsError.expected(`no key of \`labels\` to be \`${GROUP_LABEL}\``, GROUP_LABEL)
  const { proveDeath = false } = options
  assertBoolean('proveDeath', proveDeath)
  return {
    group,
    namespace: resolveNamespace(options.namespace, env),
    address,
    version,
    zone,
    labels,
    pod: resolvePod(options.pod, env),
    podName: options.pod?.name ?? (env['POD_NAME'] || undefined),
    container: options.container ?? (env['CONTAINER_NAME'] || undefined),
    ...resolveLeaseTimes(options),
    proveDeath,
    client: resolveClientOptions(options, env),
  }
}

/** How to reach the API server, from the options of a membership or of endpoints. */
export function resolveClientOptions(
  { kubeConfig, userAgent, clock, random, logger }: Partial<LeaseClientOptions>,
  env: NodeJS.ProcessEnv,
): ResolvedClientOptions {
  return {
    kubeConfig: kubeConfig ?? (() => findKubeConfig({ env })),
    ...(userAgent !== undefined && { userAgent }),
    clock: clock ?? systemClock,
    random: random ?? systemRandom,
    logger: logger ?? silentLogger,
  }
}

/** The namespace of the Pod, if none is given. @throws OptionsError */
export function resolveNamespace(given: string | undefined, env: NodeJS.ProcessEnv): string {
  const namespace = given ?? (env['POD_NAMESPACE'] || inClusterNamespace() || 'default')
  assertDnsLabel('namespace', namespace)
  return namespace
}

/** @throws OptionsError if the renewals are not frequent enough for one of them to fail */
function resolveLeaseTimes(
  options: MembershipOptions,
): Pick<ResolvedMembershipOptions, 'leaseDurationMs' | 'renewIntervalMs'> {
  const leaseDurationMs = resolveDurationMs('leaseDurationMs', options.leaseDurationMs, { fallback: 15_000, min: 1000 })
  if (leaseDurationMs % 1000 !== 0 || leaseDurationMs > 3_600_000) {
    throw OptionsError.expected('`leaseDurationMs` to be whole seconds, at most 3600000', leaseDurationMs)
  }
  const fallback = leaseDurationMs / 3
  const renewIntervalMs = resolveDurationMs('renewIntervalMs', options.renewIntervalMs, { fallback, min: 100 })
  if (renewIntervalMs > fallback) {
    throw OptionsError.expected(
      `\`renewIntervalMs\` to be at most a third of \`leaseDurationMs\`, ${fallback}`,
      renewIntervalMs,
      { remedy: 'A member must be able to miss a renewal' },
    )
  }
  return { leaseDurationMs, renewIntervalMs }
}

function resolvePod(given: MembershipOptions['pod'], env: NodeJS.ProcessEnv): ResolvedMembershipOptions['pod'] {
  const [name, uid] = [env['POD_NAME'], env['POD_UID']]
  if (given === undefined) return name && uid ? { name, uid } : undefined
  assertKnownKeys('`pod`', given, ['name', 'uid'])
  if (typeof given.name === 'string' && given.name !== '' && typeof given.uid === 'string' && given.uid !== '')
    return given
  throw OptionsError.expected('`pod` to have a `name` and a `uid` that are not empty', given)
}

function assertText(name: string, value: unknown): void {
  if (value === undefined || (typeof value === 'string' && value !== '' && value.length <= MAX_TEXT_LENGTH)) return
  throw OptionsError.expected(`\`${name}\` to be a text of 1 to ${MAX_TEXT_LENGTH} characters`, value)
}
