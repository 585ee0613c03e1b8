import type { Extension } from '@tenure/core'
import type { Member, MemberChange } from './member.ts'
import type { MembershipOptions } from './membership-options.ts'

/** Registry of metrics that `ops.registries` takes. */
export interface MetricsView {
  /** Returns every metric with its current values. */
  getMetricsAsJSON(): Promise<readonly object[]>
  /** Returns every metric without its values. */
  getMetricsAsArray(): readonly { readonly name: string }[]
}

/** Who is there: an extension for `manager.use()` that publishes this replica and follows the others. */
export interface Membership extends Required<Pick<Extension, 'name' | 'group' | 'start' | 'stop' | 'onEvent'>> {
  /** The members that are `living` or `suspect`, this replica included, in the order of their identities. */
  readonly members: readonly Member[]
  /** This replica as it publishes itself; undefined before the start. */
  readonly self: Member | undefined
  /** Resolves when this replica has published itself and has seen the others. */
  readonly synced: Promise<void>
  /** Calls `listener` with every change. The returned function removes it. If it throws, the error is logged. */
  on(listener: (change: MemberChange) => void): () => void
  /**
   * Publishes a note of this replica to the others, or withdraws it with `undefined`. Resolves when the Lease holds it. One write carries
   * all notes that change together.
   */
  note(key: string, value: string | undefined): Promise<void>
  /** Explains in one or two sentences who is there and what is wrong, if anything. The wording may change at any time. */
  explain(): string
  /** The metrics, for `ops.registries`. */
  readonly metrics: MetricsView
}

/**
 * Publishes this replica in a Lease of its own, and follows those of its group.
 *
 * @throws OptionsError naming the option, its value and what was expected
 *
 * @example
 * ```ts
 * const group = membership({ group: 'shop', address: '10.0.0.7', zone: 'eu-1a' })
 * group.on(({ kind, member }) => console.log(kind, member.identity))
 * manager.use(group)
 * ```
 */
export declare function membership(options: MembershipOptions): Membership
