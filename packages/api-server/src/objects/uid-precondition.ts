import type { ObjectRef } from '../storage/store.ts'

/** Why a write for another UID failed, in the words of the storage layer of the real server. */
export function failedUidPrecondition(ref: ObjectRef, wanted: string, present: string): string {
  const key = ['/registry', ref.collection.split('/').at(-1), ref.namespace, ref.name].filter((part) => part !== '')
  return (
    `StorageError: invalid object, Code: 4, Key: ${key.join('/')}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: UID in precondition: ${wanted}, UID in object meta: ${present}`
  )
}
