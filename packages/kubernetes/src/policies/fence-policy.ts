import type {
  V1ValidatingAdmissionPolicy,
  V1ValidatingAdmissionPolicyBinding,
  V1ValidatingAdmissionPolicyBindingSpec,
  V1ValidatingAdmissionPolicySpec,
} from '@kubernetes/client-node'
import type { FenceOptions } from './fence-options.ts'

/** A fence on the server: the rule, and where it holds. Both are needed; apply the policy first. */
export interface FencePolicy {
  readonly policy: V1ValidatingAdmissionPolicy
  readonly binding: V1ValidatingAdmissionPolicyBinding
}

/** What differs between fences. */
export interface FenceParts {
  /** The first part of the name of both objects. */
  readonly name: string
  readonly spec: V1ValidatingAdmissionPolicySpec
  readonly paramRef?: V1ValidatingAdmissionPolicyBindingSpec['paramRef']
}

const API_VERSION = 'admissionregistration.k8s.io/v1'

/** Makes both objects, under one name. */
export function fencePolicy({ lease, namespaces, mode = 'Deny' }: FenceOptions, parts: FenceParts): FencePolicy {
  const metadata = { name: `${parts.name}.${lease.name}.${lease.namespace}.tenure.dev` }
  const guarded = namespaces ?? [lease.namespace]
  return {
    policy: {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata,
      spec: parts.spec,
    },
    binding: {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata,
      spec: {
        policyName: metadata.name,
        validationActions: [mode],
        ...(parts.paramRef && { paramRef: parts.paramRef }),
        ...(guarded !== 'all' && {
          matchResources: {
            namespaceSelector: {
              matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'In', values: [...guarded] }],
            },
          },
        }),
      },
    },
  }
}

/** A text as a literal of the Common Expression Language. */
export function celString(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
