import type { ObjectRef } from './store.ts'

/** Why a precondition failed, in the words of the storage layer of the real server. */
export function failedPrecondition(ref: ObjectRef, what: 'UID' | 'ResourceVersion', wanted: string, present: string): string {
  const key = ['/registry', ref.collection.split('/').at(-1), ref.namespace, ref.name].filter((part) => part !== '')
  return (
    `StorageError: invalid object, Code: 4, Key: ${key.join('/')}, ResourceVersion: 0, AdditionalErrorMsg: ` +
    `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${present}`
  )
}
