import type { Extension } from '@tenure/core'
import type { Membership } from '../membership/membership.ts'
import type { MetricsView } from '../membership/metrics-view.ts'
import type { EndpointsMode } from './endpoints-options.ts'

/** Keeps one EndpointSlice true to the replicas that are there: an extension for `manager.use()`. */
export interface Endpoints extends Required<
  Pick<Extension, 'name' | 'group' | 'start' | 'stop' | 'onEvent' | 'onTerm'>
> {
  /** Which replicas are in the slice. */
  readonly mode: EndpointsMode
  /** The addresses in the slice as last seen, sorted as text. */
  readonly addresses: readonly string[]
  /** Whether this replica is in the slice as last seen, ready or not. */
  readonly isListed: boolean
  /** The group of the replicas; undefined with the modes `leader` and `none`. */
  readonly membership: Membership | undefined
  /** Explains in one or two sentences whether this replica is in the slice, and what keeps it out. The wording may change at any time. */
  explain(): string
  /** The metrics, for `ops.registries`. Those of a group of its own are among them. */
  readonly metrics: MetricsView
}
