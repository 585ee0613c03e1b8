import { ApiStatusError, forbidden } from '../objects/api-status.ts'
import type { Attributes, ResourceAttributes } from './attributes.ts'
import { ADMIN_GROUP, type AuthenticatedUser } from './authentication.ts'
import { asJsonObject, asJsonObjects, asString, asStrings, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { RequestInfo } from '../http/request-info.ts'
import type { Store } from '../storage/store.ts'

const RBAC = 'rbac.authorization.k8s.io'

/** Decides by the roles and bindings in the store, as RBAC does. The group `system:masters` may do everything. */
export class Authorizer {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** @throws ApiStatusError 403 with the message of the real API server */
  assertAllowed(user: AuthenticatedUser, info: RequestInfo): void {
    const attributes = { user, verb: info.verb, resource: info.target, path: info.path }
    if (this.isAllowed(attributes)) return
    if (info.target === undefined) {
      const why = `User ${JSON.stringify(user.name)} cannot ${info.verb} path ${JSON.stringify(info.path)}`
      throw new ApiStatusError(403, 'Forbidden', `forbidden: ${why}`, { details: {} })
    }
    throw forbidden({ ...info.target, kind: '' }, refusal(user, info.verb, info.target))
  }

  /** Whether a rule of the user's bindings allows this. */
  isAllowed(attributes: Attributes): boolean {
    if (attributes.user.groups.includes(ADMIN_GROUP)) return true
    const clusterBindings = this.#store.list(`${RBAC}/clusterrolebindings`)
    if (this.#isAllowedBy(clusterBindings, attributes)) return true
    const namespace = attributes.resource?.namespace ?? ''
    return namespace !== '' && this.#isAllowedBy(this.#store.list(`${RBAC}/rolebindings`, namespace), attributes)
  }

  /** The rules that the user's bindings grant in a namespace. */
  rulesIn(user: AuthenticatedUser, namespace: string): JsonObject[] {
    const bindings = [
      ...this.#store.list(`${RBAC}/clusterrolebindings`),
      ...this.#store.list(`${RBAC}/rolebindings`, namespace),
    ]
    return bindings
      .filter((binding) => asJsonObjects(binding['subjects']).some((subject) => isSubject(subject, user, binding)))
      .flatMap((binding) => this.#rulesOf(binding))
  }

  #isAllowedBy(bindings: readonly KubeObject[], attributes: Attributes): boolean {
    return bindings.some(
      (binding) =>
        asJsonObjects(binding['subjects']).some((subject) => isSubject(subject, attributes.user, binding)) &&
        this.#rulesOf(binding).some((rule) => allows(rule, attributes)),
    )
  }

  #rulesOf(binding: KubeObject): JsonObject[] {
    const reference = asJsonObject(binding['roleRef'])
    const name = asString(reference['name']) ?? ''
    const role =
      reference['kind'] === 'ClusterRole'
        ? this.#store.get({ collection: `${RBAC}/clusterroles`, namespace: '', name })
        : this.#store.get({ collection: `${RBAC}/roles`, namespace: binding.metadata.namespace ?? '', name })
    return asJsonObjects(role?.['rules'])
  }
}

function isSubject(subject: JsonObject, user: AuthenticatedUser, binding: KubeObject): boolean {
  const name = asString(subject['name']) ?? ''
  switch (subject['kind']) {
    case 'User':
      return name === user.name
    case 'Group':
      return user.groups.includes(name)
    case 'ServiceAccount':
      return (
        `system:serviceaccount:${asString(subject['namespace']) ?? binding.metadata.namespace}:${name}` === user.name
      )
    default:
      return false
  }
}

function allows(rule: JsonObject, { verb, resource, path }: Attributes): boolean {
  const covers = (field: string, wanted: string): boolean => {
    const values = asStrings(rule[field])
    return values.includes('*') || values.includes(wanted)
  }
  if (!covers('verbs', verb)) return false
  if (resource === undefined) return asStrings(rule['nonResourceURLs']).some((pattern) => coversPath(pattern, path))
  if (!covers('apiGroups', resource.group)) return false
  const names = asStrings(rule['resourceNames'])
  return coversResource(asStrings(rule['resources']), resource) && (names.length === 0 || names.includes(resource.name))
}

function coversResource(allowed: readonly string[], { resource, subresource }: ResourceAttributes): boolean {
  const full = subresource === '' ? resource : `${resource}/${subresource}`
  return allowed.includes('*') || allowed.includes(full) || (subresource !== '' && allowed.includes(`*/${subresource}`))
}

function coversPath(pattern: string, path: string): boolean {
  return pattern.endsWith('*') ? path.startsWith(pattern.slice(0, -1)) : pattern === path
}

function refusal(user: AuthenticatedUser, verb: string, target: ResourceAttributes): string {
  const resource = target.subresource === '' ? target.resource : `${target.resource}/${target.subresource}`
  const where =
    target.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(target.namespace)}`
  const what = `resource ${JSON.stringify(resource)} in API group ${JSON.stringify(target.group)}`
  return `User ${JSON.stringify(user.name)} cannot ${verb} ${what} ${where}`
}
