import '@tenure/core/supported-node'

export { startApiServer, type ApiServer, type ApiServerOptions } from './api-server.ts'
export type { ApiUser, TokenUser } from './access/authentication.ts'
export type {
  FaultableWatch,
  FaultEffect,
  FaultHandle,
  FaultMatch,
  FaultRule,
  Faults,
  FaultSubject,
} from './http/faults.ts'
export type { RequestInfo, RequestTarget } from './http/request-info.ts'
export type { LoggedRequest, RequestFilter, RequestLog } from './http/request-log.ts'
export type { ObjectRef, Store, StoreEvent, StoreWatcher } from './storage/store.ts'
export type { JsonObject, JsonValue } from './objects/json-value.ts'
export type { KubeObject, ManagedFieldsEntry, ObjectMeta } from './objects/kube-object.ts'
