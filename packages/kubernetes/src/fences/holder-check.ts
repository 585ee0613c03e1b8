import type { V1Validation, V1Variable } from '@kubernetes/client-node'
import { OptionsError } from '@tenure/core'
import { HOLDER_ANNOTATION } from '../gate/epoch-stamp.ts'
import { assertFenceOptions, FENCE_OPTION_NAMES, guardedRules, leaseRule, type FenceOptions } from './fence-options.ts'
import { celAnnotation, celString, failurePolicyOf, fencePolicy, type FencePolicy } from './fence-policy.ts'

/** Options of {@link holderCheck}. */
export interface HolderCheckOptions extends FenceOptions {
  /**
   * The users whose writes are checked; those of everybody else pass. `system:serviceaccount:NAMESPACE:NAME` for a service
   * account.
   */
  readonly writers: readonly string[]
  /**
   * How the policy recognizes a write of the holder.
   *
   * - `pod`: the token of the writer is bound to a Pod, and the holder's identity is the name of that Pod, alone or followed by
   *   `_` and any text. The default identity has this form if `POD_NAME` is set.
   * - `annotation`: the write carries the holder's identity in the annotation `tenure.dev/holder`, followed by `#` and a text that
   *   differs from that of the stored object. `gated(term, kubeConfig, { holder: identity })` writes it. A write that does not
   *   name the annotation is refused. Covers no subresource, no session and no deletion.
   *
   * @default 'pod'
   */
  readonly recognizeBy?: 'pod' | 'annotation'
}

/** Set by the API server for tokens that are bound to a Pod. */
const POD_NAME_EXTRA = 'authentication.kubernetes.io/pod-name'

/**
 * A policy under which only the present holder of the Lease may write, among `writers`: create, update, patch, apply, delete and
 * deletecollection of the resources and all their subresources, `scale`, `status` and sessions such as exec included.
 *
 * The API server reads the Lease from a cache. For a moment after a handover, a server may still admit the former holder and
 * refuse the present one. The term check stops the former; the present one retries. No writer may write while the Lease has no
 * holder or does not exist. The policy cannot see that a Lease has expired: its last holder may write until another replica
 * acquires it.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function holderCheck(options: HolderCheckOptions): FencePolicy {
  const { lease, writers, recognizeBy = 'pod' } = options
  assertFenceOptions('`holderCheck()`', options, [...FENCE_OPTION_NAMES, 'writers', 'recognizeBy'])
  if (!Array.isArray(writers) || writers.length === 0) {
    throw OptionsError.expected(`\`writers\` to name at least one user`, writers)
  }
  const recognition = RECOGNITION[recognizeBy]
  if (recognition === undefined) {
    throw OptionsError.expected(`\`recognizeBy\` to be one of pod, annotation`, recognizeBy)
  }
  return fencePolicy(options, {
    name: 'holder-check',
    paramRef: { name: lease.name, namespace: lease.namespace, parameterNotFoundAction: 'Deny' },
    spec: {
      failurePolicy: failurePolicyOf(options),
      paramKind: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      matchConstraints: {
        resourceRules: guardedRules(options, recognition.operations, recognition.subresources),
        excludeResourceRules: [leaseRule(options)],
      },
      matchConditions: [
        { name: 'is-writer', expression: `request.userInfo.username in [${writers.map(celString).join(', ')}]` },
      ],
      variables: [HOLDER, ...recognition.variables],
      validations: [...recognition.known, ...holderValidations(`${lease.namespace}/${lease.name}`, recognition)],
    },
  })
}

const HOLDER: V1Variable = {
  name: 'holder',
  expression: "has(params.spec) && has(params.spec.holderIdentity) ? params.spec.holderIdentity : ''",
}

/** Somebody holds the Lease, and the writer is that holder. */
function holderValidations(lease: string, { matches }: Recognition): V1Validation[] {
  return [
    { expression: "variables.holder != ''", message: `nobody holds the Lease ${lease}` },
    {
      expression: `variables.writer == '' || variables.holder == '' || ${matches}`,
      message: `the Lease ${lease} is held by another replica`,
      messageExpression: `"the Lease ${lease} is held by " + variables.holder + ", not by " + variables.writer`,
    },
  ]
}

/** How a policy recognizes the replica behind a write. */
interface Recognition {
  readonly operations: readonly string[]
  readonly subresources: boolean
  readonly variables: readonly V1Variable[]
  readonly known: readonly V1Validation[]
  readonly matches: string
}

const RECOGNITION: Readonly<Record<string, Recognition>> = {
  pod: {
    operations: ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'],
    subresources: true,
    variables: [
      {
        name: 'writer',
        expression:
          `has(request.userInfo.extra) && '${POD_NAME_EXTRA}' in request.userInfo.extra && ` +
          `size(request.userInfo.extra['${POD_NAME_EXTRA}']) > 0 ? request.userInfo.extra['${POD_NAME_EXTRA}'][0] : ''`,
      },
    ],
    known: [
      {
        expression: "variables.writer != ''",
        message: 'the token of the writer is not bound to a Pod, so it cannot be compared with the holder',
      },
    ],
    matches: "variables.holder == variables.writer || variables.holder.startsWith(variables.writer + '_')",
  },
  annotation: {
    operations: ['CREATE', 'UPDATE'],
    subresources: false,
    variables: [
      { name: 'mark', expression: celAnnotation('object', HOLDER_ANNOTATION) },
      { name: 'storedMark', expression: celAnnotation('oldObject', HOLDER_ANNOTATION) },
      {
        name: 'writer',
        expression: "variables.mark.contains('#') ? variables.mark.substring(0, variables.mark.lastIndexOf('#')) : ''",
      },
    ],
    known: [
      {
        expression: "variables.writer != ''",
        message: `the write does not carry the identity of the writer, "#" and a text of its own in the annotation ${HOLDER_ANNOTATION}`,
      },
      {
        // A patch that omits the annotation keeps the value of the last writer.
        expression: "variables.mark == '' || variables.mark != variables.storedMark",
        message: `the write does not name the annotation ${HOLDER_ANNOTATION}, or repeats what is stored there`,
      },
    ],
    matches: 'variables.holder == variables.writer',
  },
}
