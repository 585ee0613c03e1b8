import type { Extension } from '@tenure/core'
import type { Membership, MetricsView } from '../membership/membership.ts'
import type { EndpointsMode, EndpointsOptions } from './endpoints-options.ts'

/** Keeps one EndpointSlice true to the replicas that are there: an extension for `manager.use()`. */
export interface Endpoints extends Required<Pick<Extension, 'name' | 'group' | 'start' | 'stop' | 'onEvent' | 'onTerm'>> {
  /** Which replicas are in the slice. */
  readonly mode: EndpointsMode
  /** The addresses in the slice as last seen, sorted. */
  readonly addresses: readonly string[]
  /** Whether this replica is in the slice as last seen. */
  readonly isListed: boolean
  /** The group of replicas; undefined with the modes `leader` and `none`. */
  readonly membership: Membership | undefined
  /** Explains in one or two sentences whether this replica is in the slice, and what keeps it out. The wording may change at any time. */
  explain(): string
  /** The metrics, for `ops.registries`. */
  readonly metrics: MetricsView
}

/**
 * Keeps one EndpointSlice of a Service without a selector true to the replicas that are there.
 *
 * @throws OptionsError naming the option, its value and what was expected
 *
 * @example
 * ```ts
 * manager.use(endpoints({ service: 'shop', address: '10.0.0.7', ports: [{ name: 'http', port: 8080 }] }))
 * ```
 */
export declare function endpoints(options: EndpointsOptions): Endpoints

/** The value of the label `endpointslice.kubernetes.io/managed-by` of the slices. */
export declare const MANAGED_BY: string
