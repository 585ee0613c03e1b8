import type { ResourceDefinition } from '../resources/resource-definition.ts'
import type { ReadOptions } from './read-object.ts'

/** One request about one object. */
export interface ObjectRequest extends ReadOptions {
  readonly definition: ResourceDefinition
  /** Empty for cluster-scoped resources. */
  readonly namespace: string
  /** The name from the path; empty for a POST. */
  readonly name: string
  readonly subresource: string
  /** The field manager to record in `managedFields`. */
  readonly manager: string
  /** Run all steps, but store nothing. */
  readonly dryRun: boolean
}
