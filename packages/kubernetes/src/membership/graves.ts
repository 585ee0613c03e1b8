import type { Clock, Logger } from '@tenure/core'
import { textOf, type Timer } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { Connection } from '../client/connection.ts'
import { withDeadline } from '../client/deadline.ts'
import { deleteObject } from '../client/object-requests.ts'
import { LEASES } from '../locks/lease/lease-object.ts'
import type { MemberLease } from './member-lease.ts'

/** Options of {@link Graves}. */
export interface GravesOptions {
  readonly connection: Connection
  readonly namespace: string
  readonly clock: Clock
  readonly logger: Logger
  readonly requestTimeoutMs: number
  /** How long this replica leaves a Lease to those that come before it; 0 for the leader. */
  readonly patienceMs: () => number
  /** Whether the Lease still is there, and its member still gone. */
  readonly isGone: (lease: MemberLease) => boolean
}

/**
 * Deletes the Leases of members that are gone. The replica that leads does it at once, the others one after the other if it does not, so
 * that usually one of them writes. A Lease that was renewed meanwhile stays: the deletion names its version.
 */
export class Graves {
  readonly #options: GravesOptions
  readonly #timers = new Map<string, Timer>()
  readonly #running = new Set<Promise<void>>()
  readonly #closing = new AbortController()

  constructor(options: GravesOptions) {
    this.#options = options
  }

  /** The member is gone. @param patienceMs how long to leave its Lease to the others; by default as the option says */
  add(lease: MemberLease, patienceMs: number = this.#options.patienceMs()): void {
    if (this.#closing.signal.aborted || this.#timers.has(lease.name)) return
    const timer = this.#options.clock.setTimer(patienceMs, () => {
      this.#timers.delete(lease.name)
      if (!this.#options.isGone(lease)) return
      const deletion = this.#delete(lease).finally(() => this.#running.delete(deletion))
      this.#running.add(deletion)
    })
    this.#timers.set(lease.name, timer)
  }

  /** Stops. Resolves when no request is under way. */
  async close(): Promise<void> {
    this.#closing.abort()
    for (const timer of this.#timers.values()) timer.cancel()
    this.#timers.clear()
    await Promise.all(this.#running)
  }

  async #delete({ name, uid, resourceVersion, identity }: MemberLease): Promise<void> {
    const { clock, connection, logger, namespace, requestTimeoutMs: timeoutMs } = this.#options
    const reference = { ...LEASES, namespace, name }
    const conditions = { uid, resourceVersion: String(resourceVersion) }
    try {
      await withDeadline({ clock, timeoutMs, signal: this.#closing.signal }, (bounded) =>
        connection.send(deleteObject(reference, conditions, bounded)),
      )
      logger.info({ event: 'member-buried', namespace, lease: name }, `deleted the identity Lease of ${identity}`)
    } catch (err) {
      if (this.#closing.signal.aborted) return
      if (err instanceof ApiRequestError && ['not-found', 'conflict'].includes(err.failure)) return
      const what = `could not delete the identity Lease of ${identity}, which is gone: ${textOf(err)}`
      logger.warn({ event: 'member-unburied', namespace, lease: name, err }, what)
    }
  }
}
