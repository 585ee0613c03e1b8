import type { JsonObject, JsonValue } from './json-value.ts'

/** The metadata of a stored object, with the fields that the server itself reads. */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: string[]
  ownerReferences?: JsonObject[]
  managedFields?: ManagedFieldsEntry[]
  [field: string]: JsonValue
}

/** Which fields one manager wrote in one way: an entry of `metadata.managedFields`. */
export interface ManagedFieldsEntry {
  manager: string
  operation: 'Apply' | 'Update'
  apiVersion: string
  time?: string
  fieldsType: 'FieldsV1'
  fieldsV1: JsonObject
  subresource?: string
  [field: string]: JsonValue
}

/** An object of the Kubernetes API. */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: JsonValue
}
