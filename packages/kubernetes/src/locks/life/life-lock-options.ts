import { OptionsError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'
import { assertDnsLabel, assertDnsSubdomain } from '../../client/dns-name.ts'
import { findKubeConfig } from '../../client/kubeconfig/load-kube-config.ts'
import { inClusterNamespace } from '../../client/kubeconfig/service-account.ts'
import { LEASE_CLIENT_KEYS, type LeaseClientOptions } from '../lease/lease-client.ts'

/** Options of {@link lifeLock}. */
export interface LifeLockOptions extends Partial<LeaseClientOptions> {
  /** Name of the ConfigMap: the lock name that replicas of operator-lib give to `leader.Become()`. */
  readonly name: string
  /** Namespace of the ConfigMap and of the Pod. @default `POD_NAMESPACE`, the namespace of the service account */
  readonly namespace?: string | undefined
  /**
   * Name of the Pod of this process. @default `POD_NAME`, together with `POD_UID`, which tells this Pod from a later one of the same name
   */
  readonly pod?: string
  /** Name of the container of this process, if the Pod has several. @default `CONTAINER_NAME` */
  readonly container?: string
  /** Time within which a silent watch or a dead connection is detected, in milliseconds. @default 4000 */
  readonly silenceMs?: number
}

/** {@link LifeLockOptions} with every default filled in. */
export interface ResolvedLifeLockOptions {
  readonly name: string
  readonly namespace: string
  readonly pod: string
  /** The uid of the Pod, if the downward API gave it. */
  readonly podUid: string | undefined
  readonly container: string | undefined
  readonly silenceMs: number
  readonly client: LeaseClientOptions
}

const KEYS: readonly (keyof LifeLockOptions)[] = [
  'name',
  'namespace',
  'pod',
  'container',
  'silenceMs',
  ...LEASE_CLIENT_KEYS,
]

/** Checks all options and fills in the defaults. @throws OptionsError naming the option, its value and what was expected */
export function resolveLifeLockOptions(options: LifeLockOptions, env: NodeJS.ProcessEnv): ResolvedLifeLockOptions {
  assertKnownKeys('`lifeLock()`', options, KEYS)
  const { name, silenceMs = 4000, container = env['CONTAINER_NAME'] } = options
  assertDnsSubdomain('name', name)
  if (!Number.isFinite(silenceMs) || silenceMs <= 0) {
    throw OptionsError.expected(`\`silenceMs\` to be a positive number of milliseconds`, silenceMs)
  }
  const pod = resolvePod(options, env)
  const namespace = resolveNamespace(options, env)
  return {
    name,
    namespace,
    pod,
    podUid: (pod === env['POD_NAME'] && env['POD_UID']) || undefined,
    container: container || undefined,
    silenceMs,
    client: resolveClient(options, env),
  }
}

function resolvePod(options: LifeLockOptions, env: NodeJS.ProcessEnv): string {
  const pod = options.pod ?? env['POD_NAME'] ?? ''
  if (pod === '') {
    throw new OptionsError(
      'Expected the name of a Pod in `pod` or POD_NAME, got none: a leader for life is a Pod. Set POD_NAME by the downward API ' +
        '(`fieldRef: { fieldPath: metadata.name }`). Outside of Pods, use a Lease',
    )
  }
  assertDnsSubdomain('pod', pod)
  return pod
}

function resolveNamespace(options: LifeLockOptions, env: NodeJS.ProcessEnv): string {
  const ofPod = env['POD_NAMESPACE'] || inClusterNamespace()
  const namespace = options.namespace ?? ofPod
  if (namespace === undefined) {
    throw new OptionsError('Expected the namespace of the Pod in `namespace` or POD_NAMESPACE, got none')
  }
  assertDnsLabel('namespace', namespace)
  if (ofPod === undefined || namespace === ofPod) return namespace
  throw OptionsError.expected(
    `\`namespace\` to be \`${ofPod}\`, the namespace of the Pod, because an ownerReference stays within a namespace`,
    namespace,
  )
}

function resolveClient(options: LifeLockOptions, env: NodeJS.ProcessEnv): LeaseClientOptions {
  const given = LEASE_CLIENT_KEYS.flatMap((key) => (options[key] === undefined ? [] : [[key, options[key]] as const]))
  return { kubeConfig: () => findKubeConfig({ env }), ...Object.fromEntries(given) }
}
