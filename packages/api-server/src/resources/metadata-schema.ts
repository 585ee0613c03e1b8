import {
  anything,
  atomicObject,
  list,
  listBy,
  map,
  object,
  pointer,
  setOf,
  value,
  type ObjectSchema,
  type Schema,
} from './object-schema.ts'

const ownerReference = atomicObject('OwnerReference', {
  apiVersion: pointer('string'),
  kind: pointer('string'),
  name: pointer('string'),
  uid: pointer('string'),
  controller: pointer('boolean'),
  blockOwnerDeletion: pointer('boolean'),
})

const managedFieldsEntry = object('ManagedFieldsEntry', {
  manager: value('string'),
  operation: value('string'),
  apiVersion: value('string'),
  time: pointer('time'),
  fieldsType: value('string'),
  fieldsV1: anything,
  subresource: value('string'),
})

/** `metadata` of every kind. */
export const objectMeta: ObjectSchema = object('ObjectMeta', {
  name: value('string'),
  generateName: value('string'),
  namespace: value('string'),
  selfLink: value('string'),
  uid: value('string'),
  resourceVersion: value('string'),
  generation: value('int64'),
  creationTimestamp: value('time'),
  deletionTimestamp: pointer('time'),
  deletionGracePeriodSeconds: pointer('int64'),
  labels: map(value('string')),
  annotations: map(value('string')),
  ownerReferences: listBy(['uid'], ownerReference),
  finalizers: setOf(value('string')),
  managedFields: list(managedFieldsEntry),
})

/** The schema of a kind: the fields of every kind, and its own. */
export function kindSchema(kind: string, fields: Readonly<Record<string, Schema>>): ObjectSchema {
  return object(kind, { apiVersion: value('string'), kind: value('string'), metadata: objectMeta, ...fields })
}

/** `v1.ObjectReference`. */
export const objectReference: ObjectSchema = atomicObject('ObjectReference', {
  kind: value('string'),
  namespace: value('string'),
  name: value('string'),
  uid: value('string'),
  apiVersion: value('string'),
  resourceVersion: value('string'),
  fieldPath: value('string'),
})
