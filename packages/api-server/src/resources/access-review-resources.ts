import type { Attributes } from '../access/attributes.ts'
import { asJsonObject, asString, asStrings, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema } from './metadata-schema.ts'
import { list, map, object, openObject, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type Reviewer } from './resource-definition.ts'

const resourceAttributes = openObject('ResourceAttributes', {
  namespace: value('string'),
  verb: value('string'),
  group: value('string'),
  version: value('string'),
  resource: value('string'),
  subresource: value('string'),
  name: value('string'),
})

const nonResourceAttributes = object('NonResourceAttributes', { path: value('string'), verb: value('string') })

const accessFields = { resourceAttributes, nonResourceAttributes }

const subjectFields = {
  ...accessFields,
  user: value('string'),
  groups: list(value('string')),
  uid: value('string'),
  extra: map(list(value('string'))),
}

const shared = { namespaced: false, isReview: true, version: 'v1' } as const

/** Reviews. They are not stored; the answer is in `status`. */
export const accessReviewResources: readonly ResourceDefinition[] = [
  defineResource({
    ...shared,
    group: 'authorization.k8s.io',
    resource: 'selfsubjectaccessreviews',
    kind: 'SelfSubjectAccessReview',
    schema: kindSchema('SelfSubjectAccessReview', { spec: object('SelfSubjectAccessReviewSpec', accessFields) }),
    review: (review, reviewer) => reviewAccess(review, reviewer, reviewer.user),
  }),
  defineResource({
    ...shared,
    group: 'authorization.k8s.io',
    resource: 'subjectaccessreviews',
    kind: 'SubjectAccessReview',
    schema: kindSchema('SubjectAccessReview', { spec: object('SubjectAccessReviewSpec', subjectFields) }),
    review: (review, reviewer) => {
      const spec = asJsonObject(review['spec'])
      return reviewAccess(review, reviewer, { name: asString(spec['user']) ?? '', groups: asStrings(spec['groups']) })
    },
  }),
  defineResource({
    ...shared,
    group: 'authorization.k8s.io',
    resource: 'selfsubjectrulesreviews',
    kind: 'SelfSubjectRulesReview',
    schema: kindSchema('SelfSubjectRulesReview', {
      spec: object('SelfSubjectRulesReviewSpec', { namespace: value('string') }),
    }),
    review: (review, { rulesIn }) => {
      const rules = rulesIn(asString(asJsonObject(review['spec'])['namespace']) ?? '')
      const nonResourceRules = rules.filter((rule) => rule['nonResourceURLs'] !== undefined)
      const resourceRules = rules.filter((rule) => rule['nonResourceURLs'] === undefined)
      return { ...review, status: { resourceRules, nonResourceRules, incomplete: false } }
    },
  }),
  defineResource({
    ...shared,
    group: 'authentication.k8s.io',
    resource: 'selfsubjectreviews',
    kind: 'SelfSubjectReview',
    schema: kindSchema('SelfSubjectReview', {}),
    review: (review, { user }) => {
      return { ...review, status: { userInfo: { username: user.name, groups: [...user.groups] } } }
    },
  }),
]

function reviewAccess(review: KubeObject, reviewer: Reviewer, user: Attributes['user']): KubeObject {
  const spec = asJsonObject(review['spec'])
  const allowed = reviewer.isAllowed(readAttributes(spec, user))
  return { ...review, spec, status: { allowed } }
}

function readAttributes(spec: JsonObject, user: Attributes['user']): Attributes {
  const text = (from: JsonObject, field: string): string => asString(from[field]) ?? ''
  if (spec['nonResourceAttributes'] !== undefined) {
    const path = asJsonObject(spec['nonResourceAttributes'])
    return { user, verb: text(path, 'verb'), resource: undefined, path: text(path, 'path') }
  }
  const given = asJsonObject(spec['resourceAttributes'])
  const resource = {
    group: text(given, 'group'),
    resource: text(given, 'resource'),
    subresource: text(given, 'subresource'),
    namespace: text(given, 'namespace'),
    name: text(given, 'name'),
  }
  return { user, verb: text(given, 'verb'), resource, path: '' }
}
