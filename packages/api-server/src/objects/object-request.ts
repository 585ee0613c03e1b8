import type { ResourceDefinition } from '../resources/resource-definition.ts'
import type { ReadOptions } from './read-object.ts'

/** One request about one object. */
export interface ObjectRequest extends ReadOptions {
  readonly definition: ResourceDefinition
  /** Empty for resources of the cluster. */
  readonly namespace: string
  /** As in the path; empty for a POST. */
  readonly name: string
  readonly subresource: string
  /** Who is named as the writer in `managedFields`. */
  readonly manager: string
  /** Go through everything, store nothing. */
  readonly dryRun: boolean
}
