import type {
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingAdmissionPolicyBindingSpec,
  V1ValidatingAdmissionPolicySpec,
} from '@kubernetes/client-node'
import type { FenceOptions } from './fence-options.ts'

/** A fence on the server: the policy and its bindings. Apply all of them, the policy first. */
export interface FencePolicy {
  /** The rule. */
  readonly policy: V1ValidatingAdmissionPolicy
  /** Where the rule holds. */
  readonly binding: V1ValidatingAdmissionPolicyBinding
  /** Only in the term check: bounds epochs by the version of the Lease. */
  readonly epochBinding?: V1ValidatingAdmissionPolicyBinding
}

/** What differs between fences. */
export interface FenceParts {
  /** The first part of the name of both objects. */
  readonly name: string
  readonly spec: V1ValidatingAdmissionPolicySpec
  readonly paramRef?: V1ValidatingAdmissionPolicyBindingSpec['paramRef']
  /** The parameter of a second binding. */
  readonly epochsOf?: V1ValidatingAdmissionPolicyBindingSpec['paramRef']
}

const API_VERSION = 'admissionregistration.k8s.io/v1'

/** Makes all objects, the policy and its binding under one name. */
export function fencePolicy(options: FenceOptions, { name, spec, paramRef, epochsOf }: FenceParts): FencePolicy {
  const { lease } = options
  const metadata = { name: `${name}.${lease.name}.${lease.namespace}.tenure.dev` }
  const bind = (bindingName: string, param: FenceParts['paramRef']): V1ValidatingAdmissionPolicyBinding => ({
    apiVersion: API_VERSION,
    kind: 'ValidatingAdmissionPolicyBinding',
    metadata: { name: bindingName },
    spec: bindingSpec(options, { policyName: metadata.name, ...(param && { paramRef: param }) }),
  })
  return {
    policy: { apiVersion: API_VERSION, kind: 'ValidatingAdmissionPolicy', metadata, spec },
    binding: bind(metadata.name, paramRef),
    ...(epochsOf && { epochBinding: bind(`epochs.${metadata.name}`, epochsOf) }),
  }
}

function bindingSpec(
  { lease, namespaces, mode = 'Deny' }: FenceOptions,
  bound: Pick<V1ValidatingAdmissionPolicyBindingSpec, 'policyName' | 'paramRef'>,
): V1ValidatingAdmissionPolicyBindingSpec {
  const spec = { ...bound, validationActions: [mode] }
  if (namespaces === 'all') return spec
  const values = [...(namespaces ?? [lease.namespace])]
  const matchExpressions = [{ key: 'kubernetes.io/metadata.name', operator: 'In', values }]
  return { ...spec, matchResources: { namespaceSelector: { matchExpressions } } }
}

/** A text as a literal of the Common Expression Language. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}

/** The value of an annotation in the Common Expression Language; the empty string where there is none. */
export function celAnnotation(object: 'object' | 'oldObject' | 'params', key: string): string {
  const annotations = `${object}.metadata.annotations`
  const isThere = `${object} != null && has(${object}.metadata) && has(${annotations}) && ${celString(key)} in ${annotations}`
  return `(${isThere} ? string(${annotations}[${celString(key)}]) : '')`
}

/**
 * What the server does when it cannot evaluate the policy, for example while the Lease does not exist. Only in mode `Deny` may it
 * refuse the write.
 */
export function failurePolicyOf({ mode = 'Deny' }: FenceOptions): 'Fail' | 'Ignore' {
  return mode === 'Deny' ? 'Fail' : 'Ignore'
}
