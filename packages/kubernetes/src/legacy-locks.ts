import '@tenure/core/supported-node'

// Locks of client-go before v0.24, and the lock that moves a fleet away from them.
export { ConfigMapLock } from './locks/legacy/config-map-lock.ts'
export { EndpointsLock } from './locks/legacy/endpoints-lock.ts'
export { MultiLock } from './locks/legacy/multi-lock.ts'
