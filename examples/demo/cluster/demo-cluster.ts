import type { KubeConfig } from '@kubernetes/client-node'
import type { Place } from '../fleet/fleet.ts'

/** The API server that the demo runs on, with a namespace for it. */
export interface DemoCluster extends AsyncDisposable {
  /** A description of the server for the terminal. */
  readonly description: string
  /** May do everything in the namespace. */
  readonly kubeConfig: KubeConfig
  readonly namespace: string
  /** Where the replica of that name stands, and as whom. */
  placeOf(replica: string): Place
}
