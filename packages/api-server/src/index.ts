import '@tenure/core/supported-node'

export { startApiServer, type ApiServer, type ApiServerOptions } from './api-server/api-server.ts'
export type { ApiUser, TokenUser } from './api-server/access/authentication.ts'
export type {
  FaultableWatch,
  FaultEffect,
  FaultHandle,
  FaultMatch,
  FaultRule,
  Faults,
  FaultSubject,
} from './api-server/http/faults.ts'
export type { RequestInfo, RequestTarget } from './api-server/http/request-info.ts'
export type { LoggedRequest, RequestFilter, RequestLog } from './api-server/http/request-log.ts'
export {
  Store,
  StoreConflictError,
  type ObjectRef,
  type StoreEvent,
  type StoreOptions,
  type StoreWatcher,
} from './api-server/storage/store.ts'
export type { JsonObject, JsonValue } from './api-server/objects/json-value.ts'
export type { KubeObject, ManagedFieldsEntry, ObjectMeta } from './api-server/objects/kube-object.ts'
