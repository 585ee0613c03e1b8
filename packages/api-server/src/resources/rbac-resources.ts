import type { FieldCause } from '../objects/api-status.ts'
import { forbiddenValue, invalidValue, requiredValue, unsupportedValue } from '../objects/field-causes.ts'
import {
  asJsonObject,
  asJsonObjects,
  asStrings,
  equalJson,
  type JsonObject,
  type JsonValue,
} from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema } from './metadata-schema.ts'
import { anything, atomicObject, list, object, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'

const GROUP = 'rbac.authorization.k8s.io'

const policyRule = object('PolicyRule', {
  verbs: list(value('string')),
  apiGroups: list(value('string')),
  resources: list(value('string')),
  resourceNames: list(value('string')),
  nonResourceURLs: list(value('string')),
})

const roleRef = atomicObject('RoleRef', { apiGroup: value('string'), kind: value('string'), name: value('string') })

const subject = object('Subject', {
  kind: value('string'),
  apiGroup: value('string'),
  name: value('string'),
  namespace: value('string'),
})

const roleFields = { rules: list(policyRule) }
const bindingFields = { subjects: list(subject), roleRef }

/** Role names are path segments, so they may contain colons. */
const shared = { group: GROUP, version: 'v1', nameRule: 'path-segment', createsOnUpdate: true } as const

function prepareRole(role: KubeObject): KubeObject {
  return { ...role, rules: role['rules'] ?? null }
}

function validateRole(namespaced: boolean) {
  return (role: KubeObject): FieldCause[] =>
    asJsonObjects(role['rules']).flatMap((rule, index) => validateRule(rule, `rules[${index}]`, namespaced))
}

function validateRule(rule: JsonObject, path: string, namespaced: boolean): FieldCause[] {
  const has = (field: string): boolean => asStrings(rule[field]).length > 0
  const causes: FieldCause[] = []
  if (!has('verbs')) causes.push(requiredValue(`${path}.verbs`, 'verbs must contain at least one value'))
  if (has('nonResourceURLs')) {
    if (namespaced) {
      const urls: JsonValue = asStrings(rule['nonResourceURLs'])
      causes.push(invalidValue(`${path}.nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'))
    }
    return causes
  }
  if (!has('apiGroups')) {
    causes.push(requiredValue(`${path}.apiGroups`, 'resource rules must supply at least one api group'))
  }
  if (!has('resources')) {
    causes.push(requiredValue(`${path}.resources`, 'resource rules must supply at least one resource'))
  }
  return causes
}

function completeBinding(binding: KubeObject): KubeObject {
  const reference = asJsonObject(binding['roleRef'])
  const subjects = asJsonObjects(binding['subjects']).map((each): JsonObject => {
    const isNamed = each['kind'] === 'User' || each['kind'] === 'Group'
    return isNamed ? { ...each, apiGroup: each['apiGroup'] ?? GROUP } : each
  })
  return {
    ...binding,
    ...(subjects.length === 0 ? {} : { subjects }),
    roleRef: { ...reference, apiGroup: reference['apiGroup'] ?? GROUP },
  }
}

function validateBinding(roleKinds: readonly string[]) {
  return (binding: KubeObject, { previous }: WriteTarget): FieldCause[] => {
    const reference = asJsonObject(binding['roleRef'])
    const causes: FieldCause[] = []
    if (previous !== undefined && !equalJson(previous['roleRef'], reference)) {
      causes.push(invalidValue('roleRef', reference, 'cannot change roleRef'))
    }
    if (reference['apiGroup'] !== GROUP) {
      causes.push(unsupportedValue('roleRef.apiGroup', reference['apiGroup'] ?? '', [GROUP]))
    }
    if (!roleKinds.includes(String(reference['kind'] ?? ''))) {
      causes.push(unsupportedValue('roleRef.kind', reference['kind'] ?? '', roleKinds))
    }
    if (reference['name'] === undefined) causes.push(requiredValue('roleRef.name'))
    const subjects = asJsonObjects(binding['subjects'])
    return [...causes, ...subjects.flatMap((each, index) => validateSubject(each, `subjects[${index}]`))]
  }
}

function validateSubject(subject: JsonObject, path: string): FieldCause[] {
  const causes: FieldCause[] = []
  const kind = subject['kind'] ?? ''
  if (subject['name'] === undefined) causes.push(requiredValue(`${path}.name`))
  if (kind === 'ServiceAccount') {
    if (subject['namespace'] === undefined) causes.push(requiredValue(`${path}.namespace`))
  } else if (kind !== 'User' && kind !== 'Group') {
    causes.push(unsupportedValue(`${path}.kind`, kind, ['ServiceAccount', 'User', 'Group']))
  } else if (subject['namespace'] !== undefined) {
    causes.push(forbiddenValue(`${path}.namespace`, 'namespace may not be specified'))
  }
  return causes
}

/** Roles and bindings, which the server enforces. Unlike on the real server, a user may grant permissions that it does not have. */
export const rbacResources: readonly ResourceDefinition[] = [
  defineResource({
    ...shared,
    resource: 'roles',
    kind: 'Role',
    schema: kindSchema('Role', roleFields),
    prepare: prepareRole,
    validate: validateRole(true),
  }),
  defineResource({
    ...shared,
    resource: 'rolebindings',
    kind: 'RoleBinding',
    schema: kindSchema('RoleBinding', bindingFields),
    withDefaults: completeBinding,
    validate: validateBinding(['Role', 'ClusterRole']),
  }),
  defineResource({
    ...shared,
    resource: 'clusterroles',
    kind: 'ClusterRole',
    namespaced: false,
    schema: kindSchema('ClusterRole', { ...roleFields, aggregationRule: anything }),
    prepare: prepareRole,
    validate: validateRole(false),
  }),
  defineResource({
    ...shared,
    resource: 'clusterrolebindings',
    kind: 'ClusterRoleBinding',
    namespaced: false,
    schema: kindSchema('ClusterRoleBinding', bindingFields),
    withDefaults: completeBinding,
    validate: validateBinding(['ClusterRole']),
  }),
]
