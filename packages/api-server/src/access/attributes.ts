import type { AuthenticatedUser } from './authentication.ts'

/** What a user asks to do with a resource or a non-resource path. */
export interface Attributes {
  readonly user: AuthenticatedUser
  readonly verb: string
  readonly resource: ResourceAttributes | undefined
  readonly path: string
}

/** The resource of a request. */
export interface ResourceAttributes {
  readonly group: string
  readonly resource: string
  readonly subresource: string
  /** Empty for all namespaces and for cluster-scoped resources. */
  readonly namespace: string
  /** Empty for a collection. */
  readonly name: string
}
