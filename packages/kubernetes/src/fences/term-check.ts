import type { V1Validation } from '@kubernetes/client-node'
import { EPOCH_ANNOTATION, LEASE_ANNOTATION, LEAST_EPOCH_ANNOTATION } from '../gate/epoch-stamp.ts'
import { assertFenceOptions, FENCE_OPTION_NAMES, guardedRules, leaseRule, type FenceOptions } from './fence-options.ts'
import { celAnnotation, celString, fencePolicy, type FencePolicy } from './fence-policy.ts'

/** Options of {@link termCheck}. */
export interface TermCheckOptions extends FenceOptions {
  /** Users that the check lets pass, such as an administrator who hands an object to another lease. @default none */
  readonly exemptUsers?: readonly string[]
}

/**
 * A policy under which a write with an older epoch never overwrites a write with a newer epoch.
 *
 * The annotation `tenure.dev/epoch` of the object that is written is compared with that of the stored object, in the transaction
 * of the update. So the check has no race, and depends on no clock, cache or other API server. The clients of
 * `gated()` write the annotation.
 *
 * | write | covered |
 * |---|---|
 * | update, patch of every kind, apply of an object that exists | yes |
 * | the same on `status` | where the resource stores annotations that come in through it: built-in kinds do, custom resources do not |
 * | create, apply of an object that does not exist | no stored object: the first write adopts; a malformed epoch is refused |
 * | `scale` | no: a Scale carries no annotations of the object |
 * | delete, deletecollection | no: they carry no object |
 * | a patch that does not name the annotation | no: it keeps the stored one, as writes of other clients must |
 *
 * An epoch is a version of the Lease, or the least epoch that the Lease states. With `epochBinding`, the server refuses an epoch
 * that is more than 100,000 ahead of the version that it knows, so a forged epoch blocks later terms only until the cluster has
 * made that many writes. Without this binding, or while the Lease does not exist, the bound is 2^53. Omit the binding if the
 * lease is not stored on this server.
 *
 * An object without the annotation is adopted by the first write that carries it. After that, the annotation cannot be removed,
 * and `tenure.dev/lease` cannot be changed: if two leases guard one object, the refusal names both. An epoch
 * that is not a number of at most 64 bits is refused; such a stored value may be overwritten.
 *
 * @throws OptionsError naming the option that is wrong.
 */
export function termCheck(options: TermCheckOptions): FencePolicy {
  const { exemptUsers = [], lease } = options
  assertFenceOptions('`termCheck()`', options, [...FENCE_OPTION_NAMES, 'exemptUsers'])
  const matchConditions = [
    { name: 'not-exempt', expression: `!(request.userInfo.username in [${exemptUsers.map(celString).join(', ')}])` },
  ]
  return fencePolicy(options, {
    name: 'term-check',
    epochsOf: { name: lease.name, namespace: lease.namespace, parameterNotFoundAction: 'Allow' },
    spec: {
      failurePolicy: 'Fail',
      paramKind: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' },
      matchConstraints: {
        resourceRules: guardedRules(options, ['CREATE', 'UPDATE'], true),
        excludeResourceRules: [leaseRule(options)],
      },
      ...(exemptUsers.length > 0 && { matchConditions }),
      variables: [
        { name: 'stored', expression: celAnnotation('oldObject', EPOCH_ANNOTATION) },
        { name: 'given', expression: celAnnotation('object', EPOCH_ANNOTATION) },
        { name: 'storedLease', expression: celAnnotation('oldObject', LEASE_ANNOTATION) },
        { name: 'givenLease', expression: celAnnotation('object', LEASE_ANNOTATION) },
        { name: 'storedIsEpoch', expression: isEpoch('variables.stored') },
        { name: 'givenIsEpoch', expression: isEpoch('variables.given') },
        { name: 'least', expression: celAnnotation('params', LEAST_EPOCH_ANNOTATION) },
        {
          name: 'largest',
          expression: `params == null ? ${LARGEST_EPOCH} : ${LARGEST_LEAD} + (${LEASE_EPOCH})`,
        },
      ],
      validations: VALIDATIONS,
    },
  })
}

/**
 * How far an epoch may be ahead of the version of the Lease that the API server knows. The cache of the server may lag behind the
 * write that began the term, and other objects were written in between.
 */
const LARGEST_LEAD = 100_000

/** The version of the Lease, or the least epoch that it states where that is greater: after a restore, or in another store. */
const LEASE_EPOCH =
  `variables.least.matches('^[1-9][0-9]{0,17}$') && int(variables.least) > int(params.metadata.resourceVersion) ` +
  '? int(variables.least) : int(params.metadata.resourceVersion)'

/** The bound without a Lease to compare with: no store counts this far. */
const LARGEST_EPOCH = Number.MAX_SAFE_INTEGER

const VALIDATIONS: V1Validation[] = [
  {
    expression: "variables.given == '' || variables.givenIsEpoch",
    message: `the annotation ${EPOCH_ANNOTATION} is not an epoch: it has to be a decimal number of at most 64 bits`,
    messageExpression: `"the annotation ${EPOCH_ANNOTATION} is not an epoch, a decimal number of at most 64 bits: " + variables.given`,
  },
  {
    expression: "variables.stored == '' || variables.given != ''",
    message: `the annotation ${EPOCH_ANNOTATION} cannot be removed`,
    messageExpression: `"the annotation ${EPOCH_ANNOTATION} cannot be removed: the object was written in the term with epoch " + variables.stored`,
  },
  {
    expression: "variables.storedLease == '' || variables.storedLease == variables.givenLease",
    message: `the annotation ${LEASE_ANNOTATION} cannot be changed`,
    messageExpression: `"the object is guarded by the lease " + variables.storedLease + ", the write names the lease '" + variables.givenLease + "'"`,
  },
  {
    expression:
      'variables.given == variables.stored || !variables.givenIsEpoch || int(variables.given) <= variables.largest',
    message: 'no term of the lease can have had that epoch yet',
    messageExpression: '"no term of the lease can have had the epoch " + variables.given + " yet"',
  },
  {
    // The order matters: only a number may be converted.
    expression: '!variables.storedIsEpoch || !variables.givenIsEpoch || int(variables.given) >= int(variables.stored)',
    message: 'the write belongs to an older term than the stored object',
    messageExpression:
      '"the write belongs to the term with epoch " + variables.given + ", the stored object to the newer one with epoch " + variables.stored',
  },
]

const LARGEST_INT64 = '9223372036854775807'

function isEpoch(text: string): string {
  return `${text}.matches('^(0|[1-9][0-9]{0,18})$') && (size(${text}) < 19 || ${text} <= '${LARGEST_INT64}')`
}
