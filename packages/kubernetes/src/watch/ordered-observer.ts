import type { AbsentLease, LockObserver, PresentLease } from '@tenure/core'

/** A lease as a watch saw it: always with the version at which it was so. */
export type ObservedLease = PresentLease | (AbsentLease & { readonly version: bigint })

/**
 * Hands what is seen to an observer, in the order of versions, whatever way it came.
 *
 * Invariants: versions only grow; `up` and `down` alternate; nothing is handed over after {@link OrderedObserver.close}. An
 * exception of the observer is thrown again outside, where the process sees it as uncaught.
 */
export class OrderedObserver {
  readonly #observer: LockObserver
  #connection: 'new' | 'up' | 'down' | 'closed' = 'new'
  #last: ObservedLease | undefined

  constructor(observer: LockObserver) {
    this.#observer = observer
  }

  /** Reports the lease unless something newer was reported before, or nothing is different. */
  changed(lease: ObservedLease): void {
    if (this.#connection === 'closed' || !isNews(lease, this.#last)) return
    this.#last = lease
    surface(() => this.#observer.changed(lease))
  }

  up(): void {
    if (this.#connection === 'closed' || this.#connection === 'up') return
    this.#connection = 'up'
    surface(() => this.#observer.up())
  }

  down(cause: Error): void {
    if (this.#connection === 'closed' || this.#connection === 'down') return
    this.#connection = 'down'
    surface(() => this.#observer.down(cause))
  }

  close(): void {
    this.#connection = 'closed'
  }
}

/** Whether `lease` tells more than `known`. A lease that is still absent is no news. */
export function isNews(lease: ObservedLease, known: ObservedLease | undefined): boolean {
  if (known === undefined) return true
  return lease.version > known.version && (lease.kind === 'present' || known.kind === 'present')
}

function surface(call: () => void): void {
  try {
    call()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
