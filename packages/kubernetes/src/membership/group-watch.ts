import type { Clock, Logger } from '@tenure/core'
import { type Random, textOf, type Timer } from '@tenure/core/internal'
import type { Connection } from '../client/connection.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import { type CollectionObserver, CollectionWatch } from '../reflector/collection-watch.ts'
import type { ObservedObject } from '../reflector/observed-object.ts'
import type { MemberChange } from './member.ts'
import { GROUP_LABEL, type MemberLease } from './member-lease.ts'
import { isRefusal } from './own-lease.ts'
import { Roster } from './roster.ts'

/** Options of {@link GroupWatch}. */
export interface GroupWatchOptions {
  readonly connection: Connection
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly group: string
  readonly namespace: string
  readonly leaseDurationMs: number
  readonly renewIntervalMs: number
  /** The name of the own Lease. */
  readonly self: string
  readonly onChanges: (changes: readonly MemberChange[]) => void
  /** The own Lease was seen. */
  readonly onOwnLease: (seen: ObservedObject) => void
}

/**
 * Follows the identity Leases of a group over one watch, and feeds them to the {@link Roster} with the time.
 *
 * Owns the watch and one timer. Does not own the connection.
 */
export class GroupWatch {
  readonly roster: Roster
  readonly #options: GroupWatchOptions
  readonly #watch: CollectionWatch
  readonly #opened = Promise.withResolvers<void>()
  readonly #closing = new AbortController()
  #timer: Timer | undefined
  #isConfirming = false
  #problem: Error | undefined

  constructor(options: GroupWatchOptions) {
    const { connection, clock, random, group, namespace, renewIntervalMs, self, leaseDurationMs } = options
    this.#options = options
    this.roster = new Roster({ self, leaseDurationMs, renewIntervalMs })
    this.#watch = new CollectionWatch({
      connection,
      clock,
      random,
      selection: { ...LEASES, namespace, labelSelector: `${GROUP_LABEL}=${group}` },
      silenceMs: Math.min(4000, renewIntervalMs),
      observer: this.#observer(),
    })
    // Only a start waits for it.
    this.#opened.promise.catch(() => {})
  }

  /** Why the group cannot be seen; undefined if it can. */
  get problem(): Error | undefined {
    return this.#problem
  }

  /** Settles when the group can be seen, or the first attempt to see it has failed. @throws ApiRequestError if it was refused for good */
  get opened(): Promise<void> {
    return this.#opened.promise
  }

  /** Follows until it is closed. */
  async run(): Promise<void> {
    await this.#watch.run(this.#closing.signal)
  }

  /** Stops. The promise of {@link run} resolves. */
  close(): void {
    this.#closing.abort()
    this.#opened.resolve()
    this.#timer?.cancel()
  }

  /** A write of the own Lease that was sent then has succeeded. */
  written(sentAt: number, version: bigint): void {
    this.roster.confirmed(sentAt, this.#options.clock.now())
    this.#watch.expect(version)
    this.#schedule()
  }

  /** A write of the own Lease has failed. */
  failed(): void {
    this.roster.failed()
  }

  /** Reads the group with a consistent read. @throws ApiRequestError */
  async refresh(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const sentAt = clock.now()
    try {
      await this.#watch.refresh(signal)
    } catch (error) {
      // The time of all members starts again with the next success.
      if (!signal.aborted) this.roster.failed()
      throw error
    }
    this.roster.confirmed(sentAt, clock.now())
    this.#schedule()
  }

  /** The process of this member has ended. */
  died({ name, uid }: MemberLease): void {
    this.#tell(this.roster.died(name, uid))
  }

  #observer(): CollectionObserver {
    const { clock, onOwnLease, self } = this.#options
    return {
      listed: (objects, version) => {
        this.#tell(this.roster.listed(objects, version, clock.now()))
        onOwnLease(objects.get(self) ?? { kind: 'absent', version })
      },
      changed: (name, seen) => {
        this.#tell(this.roster.changed(name, seen, clock.now()))
        if (name === self) onOwnLease(seen)
      },
      up: () => {
        this.#problem = undefined
        this.roster.connected(clock.now())
        this.#opened.resolve()
        this.#schedule()
      },
      down: (cause) => this.#disconnected(cause),
    }
  }

  #disconnected(cause: Error): void {
    const { logger, group, namespace } = this.#options
    if (this.#problem?.message !== cause.message) {
      const what = `the watch of the group is disconnected: ${textOf(cause)}`
      logger.warn({ event: 'members-unseen', namespace, group, err: cause }, what)
    }
    this.#problem = cause
    this.roster.disconnected()
    if (isRefusal(cause)) this.#opened.reject(cause)
    else this.#opened.resolve()
  }

  #tell(changes: readonly MemberChange[]): void {
    if (changes.length > 0) this.#options.onChanges(changes)
    this.#schedule()
  }

  /** Waits for the next time at which time alone changes something. */
  #schedule(): void {
    this.#timer?.cancel()
    if (this.#closing.signal.aborted || this.#isConfirming) return
    const { clock } = this.#options
    const at = this.roster.nextAt()
    if (at !== undefined) this.#timer = clock.setTimer(at - clock.now(), () => this.#tick())
  }

  #tick(): void {
    const now = this.#options.clock.now()
    const expired = this.roster.expired(now)
    this.#tell(this.roster.tick(now))
    if (expired.length > 0) void this.#confirm(expired)
  }

  /** A consistent read decides whether members whose time is over are gone: the watch may be late. */
  async #confirm(expired: readonly MemberLease[]): Promise<void> {
    if (this.#isConfirming) return
    this.#isConfirming = true
    try {
      await this.refresh(this.#closing.signal)
      this.#tell(this.roster.drop(expired, this.#options.clock.now()))
    } catch {
      // Later.
    } finally {
      this.#isConfirming = false
      this.#schedule()
    }
  }
}
