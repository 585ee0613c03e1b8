import type { IncomingHttpHeaders } from 'node:http'
import { forbidden } from '../objects/api-status.ts'
import type { AuthenticatedUser } from './authentication.ts'
import type { Authorizer } from './authorization.ts'

const SERVICE_ACCOUNT = /^system:serviceaccount:(?<namespace>[^:]+):(?<name>[^:]+)$/

/**
 * Returns the user that the headers `Impersonate-User` and `Impersonate-Group` name, or the sender if there are no such headers.
 *
 * @throws ApiStatusError 403 if the sender may not impersonate that user
 */
export function impersonated(
  user: AuthenticatedUser,
  headers: IncomingHttpHeaders,
  authorizer: Authorizer,
): AuthenticatedUser {
  const name = single(headers['impersonate-user'])
  if (name === '') return user
  const account = SERVICE_ACCOUNT.exec(name)?.groups
  const groups = single(headers['impersonate-group'])
    .split(', ')
    .filter((group) => group !== '')
  if (account === undefined) assertMay(user, { resource: 'users', namespace: '', name }, authorizer)
  else {
    const { namespace = '', name: accountName = '' } = account
    assertMay(user, { resource: 'serviceaccounts', namespace, name: accountName }, authorizer)
    if (groups.length === 0) groups.push('system:serviceaccounts', `system:serviceaccounts:${namespace}`)
  }
  for (const group of groups) {
    if (!group.startsWith('system:serviceaccounts'))
      assertMay(user, { resource: 'groups', namespace: '', name: group }, authorizer)
  }
  return { name, groups: [...groups, 'system:authenticated'] }
}

function assertMay(
  user: AuthenticatedUser,
  target: { readonly resource: string; readonly namespace: string; readonly name: string },
  authorizer: Authorizer,
): void {
  const resource = { group: '', subresource: '', ...target }
  if (authorizer.isAllowed({ user, verb: 'impersonate', resource, path: '' })) return
  const why = `User "${user.name}" cannot impersonate resource "${target.resource}" in API group "" at the cluster scope`
  throw forbidden({ group: '', resource: target.resource, kind: '', name: target.name }, why)
}

/** Node joins repeated headers. */
function single(header: string | string[] | undefined): string {
  return [header ?? []].flat().join(', ')
}
