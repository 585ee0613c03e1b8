import type { Run } from '../run.ts'
import type { SimulatedStore } from '../store/simulated-store.ts'
import type { KnownDeaths } from './known-deaths.ts'
import type { Network } from './network.ts'
import type { SimulatedApiServer } from './simulated-api-server.ts'
import type { SimulatedCoordinator } from './simulated-coordinator.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** A run and everything that a replica can reach in it. */
export interface Cluster extends Run {
  readonly server: SimulatedApiServer
  readonly deaths: KnownDeaths
  readonly store: SimulatedStore
  readonly network: Network
  /** The election controller; undefined if the API server has none. */
  readonly coordinator: SimulatedCoordinator | undefined
  /** The garbage collector, which looks at the lease when a process has ended; undefined unless leaders lead for life. */
  readonly collector: { readonly look: () => void } | undefined
  /** The running process with this identity. */
  processOf(identity: string): SimulatedProcess | undefined
}
