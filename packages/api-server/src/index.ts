import '@tenure/core/supported-node'

export { startApiServer, type ApiServer, type ApiServerOptions } from './api-server.ts'
export type { FaultRule, Faults } from './http/faults.ts'
export type { RequestInfo } from './http/request-info.ts'
export type { LoggedRequest } from './http/request-log.ts'
export type { KubeObject } from './objects/kube-object.ts'
