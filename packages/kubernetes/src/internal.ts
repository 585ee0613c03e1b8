// For the other packages of this project. Not part of the public API: it may change in any release.
import '@tenure/core/supported-node'
export { LeaseClient, type LeaseClientOptions } from './locks/lease/lease-client.ts'
export { type ApiRequestErrorOptions } from './client/api-request-error.ts'
export { ApiTransport, type ApiTransportOptions } from './client/api-transport.ts'
export type { KubeConfigSource } from './client/current-settings.ts'
export { pause } from './reflector/pause.ts'
export { WatchInterruptedError } from './reflector/watch-interrupted-error.ts'
export type { DeathProof } from './locks/death-proof.ts'
export { PodDeparture, type PodDepartureOptions } from './locks/departure/pod-departure.ts'
export { PodDeathProof, type PodDeathProofOptions } from './locks/death/pod-death-proof.ts'
export { LeaseEvents, type LeaseEventsOptions } from './events/lease-events.ts'
export {
  devFolder,
  type DevGreeting,
  isPrivateFolder,
  pidOfSocket,
  stateFolder,
} from './client/kubeconfig/dev-folder.ts'
export { askDev, connectToDev } from './client/kubeconfig/dev-sockets.ts'
export { supportedKubeConfig } from './client/kubeconfig/kube-config-like.ts'
export { FoundKubeConfig } from './client/kubeconfig/found-kube-config.ts'
export { findKubeConfig, followKubeConfig, type LoadKubeConfigOptions } from './client/kubeconfig/load-kube-config.ts'
export { inClusterNamespace, type ServiceAccountOptions } from './client/kubeconfig/service-account.ts'
export { type LeaseRole, type LeaseRoleOptions } from './manifests/lease-role.ts'
export { type GatedKubeConfig, type StampedTerm } from './gate/gated.ts'
export { HOLDER_ANNOTATION, LEASE_ANNOTATION } from './gate/epoch-stamp.ts'
export { assertLabels } from './client/labels.ts'
export { parseLease } from './locks/lease/lease-object.ts'
export { withDeadline } from './client/deadline.ts'
export { type ApiRequest } from './client/api-request.ts'
export { statusError } from './client/status-error.ts'
export { integerAt, isJsonObject, objectAt, stringAt, type JsonObject } from './json-object.ts'
export { assertDnsLabel, assertDnsSubdomain } from './client/dns-name.ts'
export type { FenceMode, FenceOptions, GuardedResources } from './fences/fence-options.ts'
export { missingResources } from './fences/missing-resources.ts'
export type { ApiObject, InformerOwner } from './informer/informer-options.ts'
export { CoordinatedLock, type CoordinatedLockOptions } from './coordinated/coordinated-lock.ts'
