import { isNews, type ObjectObserver, type ObservedObject, type Sighting } from './observed-object.ts'

/**
 * Hands what is seen to an observer, in the order of versions, whatever way it came.
 *
 * Invariants: versions only grow, unless the store went back; `up` and `down` alternate; nothing is handed over after {@link OrderedObserver.close}. An
 * exception of the observer is thrown again outside, where the process sees it as uncaught.
 */
export class OrderedObserver {
  readonly #observer: ObjectObserver
  #connection: 'new' | 'up' | 'down' | 'closed' = 'new'
  #last: Sighting | undefined

  constructor(observer: ObjectObserver) {
    this.#observer = observer
  }

  /** Reports the object unless something newer was reported before, or nothing is different. */
  changed(seen: ObservedObject): void {
    if (this.#connection === 'closed' || !isNews(seen, this.#last)) return
    this.#last = { kind: seen.kind, version: seen.version }
    surface(() => this.#observer.changed(seen))
  }

  /** The store went back: what it has now is news, whatever its version. */
  restored(): void {
    this.#last = undefined
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

function surface(call: () => void): void {
  try {
    call()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}
