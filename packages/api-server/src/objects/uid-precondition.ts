import type { ObjectRef } from '../storage/store.ts'

/** The message for a failed UID precondition, as the storage layer of the real server writes it. */
export function failedUidPrecondition(ref: ObjectRef, wanted: string, present: string): string {
  const key = ['/registry', ref.collection.split('/').at(-1), ref.namespace, ref.name].filter((part) => part !== '')
  return (
    `StorageError: invalid object, Code: 4, Key: ${key.join('/')}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${present}`
  )
}
