export { startApiServer, type ApiServer, type ApiServerOptions } from './api-server/api-server.ts'
export type { ApiUser, TokenUser } from './api-server/authentication.ts'
export type {
  FaultableWatch,
  FaultEffect,
  FaultHandle,
  FaultMatch,
  FaultRule,
  Faults,
  FaultSubject,
} from './api-server/faults.ts'
export type { RequestInfo, RequestTarget } from './api-server/request-info.ts'
export type { LoggedRequest, RequestFilter, RequestLog } from './api-server/request-log.ts'
export {
  Store,
  StoreConflictError,
  type ObjectRef,
  type StoreEvent,
  type StoreOptions,
  type StoreWatcher,
} from './api-server/store.ts'
export type { JsonObject, JsonValue } from './api-server/json-value.ts'
export type { KubeObject, ManagedFieldsEntry, ObjectMeta } from './api-server/kube-object.ts'
