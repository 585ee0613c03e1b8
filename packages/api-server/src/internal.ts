// For the other packages of this project. Not part of the public API: it may change in any release.
import '@tenure/core/supported-node'

export { CertificateAuthority } from './certificate-authority.ts'
export { formatKubeConfig } from './kube-config.ts'
export {
  Store,
  StoreConflictError,
  type ObjectRef,
  type StoreEvent,
  type StoreOptions,
  type StoreWatcher,
} from './storage/store.ts'
export type { JsonObject, JsonValue } from './objects/json-value.ts'
export type { KubeObject, ManagedFieldsEntry, ObjectMeta } from './objects/kube-object.ts'
