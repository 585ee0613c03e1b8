import type { V1NamedRuleWithOperations } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { assertKnownKeys } from '@tenure/core/internal'
import { assertDnsLabel, assertDnsSubdomain } from '../client/dns-name.ts'

/** Resources of one API group that a policy guards, their subresources included. */
export interface GuardedResources {
  /** The API group; the empty string for the core group. */
  readonly apiGroup: string
  /**
   * Plural names, such as `deployments`. A resource that does not exist yet is guarded once it does; `missingResources()` lists
   * such names.
   */
  readonly resources: readonly string[]
}

/**
 * What the API server does about a write that a policy refuses: `Warn` lets it pass with a warning in the answer, `Audit` lets it
 * pass with an annotation in the audit log, `Deny` refuses it with 422.
 */
export type FenceMode = 'Warn' | 'Audit' | 'Deny'

/** Options of every fence on the server. */
export interface FenceOptions {
  /** The Lease whose holder may write. */
  readonly lease: { readonly name: string; readonly namespace: string }
  /** The guarded resources, at least one. The Lease itself is never guarded. */
  readonly resources: readonly GuardedResources[]
  /** The namespaces of the guarded objects. Cluster-scoped objects are always guarded. @default the namespace of the Lease */
  readonly namespaces?: readonly string[] | 'all'
  /** What the API server does about a write that the policy refuses. @default 'Deny' */
  readonly mode?: FenceMode
}

/** The names of all {@link FenceOptions}. */
export const FENCE_OPTION_NAMES: readonly (keyof FenceOptions)[] = ['lease', 'resources', 'namespaces', 'mode']

const MODES: readonly string[] = ['Warn', 'Audit', 'Deny'] satisfies FenceMode[]
const PLURAL = /^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$/

/** Checks what the caller gave. @throws OptionsError naming the option that is wrong. */
export function assertFenceOptions(what: string, options: FenceOptions, known: readonly string[]): void {
  assertKnownKeys(what, options, known)
  const { lease, resources, namespaces = 'all', mode = 'Deny' } = options
  assertDnsSubdomain('lease.name', lease?.name)
  assertDnsLabel('lease.namespace', lease.namespace)
  if (!Array.isArray(resources) || resources.length === 0) {
    throw OptionsError.expected(`\`resources\` to name at least one resource`, resources)
  }
  resources.forEach(assertGuardedResources)
  if (namespaces !== 'all' && !Array.isArray(namespaces)) {
    throw OptionsError.expected('`namespaces` to be a list of namespaces, or `all`', namespaces)
  }
  for (const namespace of [namespaces].flat()) assertDnsLabel('namespaces', namespace)
  if (!MODES.includes(mode)) throw OptionsError.expected(`\`mode\` to be one of ${MODES.join(', ')}`, mode)
}

function assertGuardedResources({ apiGroup, resources }: GuardedResources): void {
  if (apiGroup !== '' && apiGroup !== '*') assertDnsSubdomain('resources.apiGroup', apiGroup)
  const wrong = resources.find((resource: unknown) => typeof resource !== 'string' || !PLURAL.test(resource))
  if (wrong === undefined && resources.length > 0) return
  throw OptionsError.expected(
    `\`resources.resources\` to hold plural names without subresources, such as \`deployments\``,
    wrong ?? '',
  )
}

/** The rules that match writes to the guarded resources. */
export function guardedRules(
  { resources }: FenceOptions,
  operations: readonly string[],
  subresources: boolean,
): V1NamedRuleWithOperations[] {
  return resources.map((group) => ({
    apiGroups: [group.apiGroup],
    apiVersions: ['*'],
    operations: [...operations],
    resources: group.resources.flatMap((resource) => (subresources ? [resource, `${resource}/*`] : [resource])),
  }))
}

/** The rule that excludes the Lease itself: every candidate must be able to write it. */
export function leaseRule({ lease }: FenceOptions): V1NamedRuleWithOperations {
  return {
    apiGroups: ['coordination.k8s.io'],
    apiVersions: ['*'],
    operations: ['*'],
    resources: ['leases'],
    resourceNames: [lease.name],
  }
}
