import type { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import {
  type LeaseRecord,
  LockRequestError,
  type Lock,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'

/** How well one replica reaches its stores. */
export interface Network {
  readonly clock: VirtualClock
  readonly random: () => number
  /** Once true, every request gets through, and soon. */
  readonly isCalm: () => boolean
  /** While true, nothing gets through. */
  readonly isCut: () => boolean
}

const NEVER = new AbortController().signal

/** A lock far away: requests are slow, lost, late or refused, answers are lost, and watches lag and break. */
export class FaultyLock implements Lock {
  readonly description: string
  readonly #lock: Lock
  readonly #network: Network
  readonly #watches = new Set<LaggingWatch>()

  constructor(lock: Lock, network: Network) {
    this.description = lock.description
    this.#lock = lock
    this.#network = network
  }

  get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    return this.#request(signal, () => this.#lock.get({ signal: NEVER }))
  }

  create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    return this.#request(signal, () => this.#lock.create(record, { signal: NEVER }))
  }

  update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    return this.#request(signal, () => this.#lock.update(base, record, { signal: NEVER }))
  }

  watch(observer: LockObserver): LockWatch {
    const watch = new LaggingWatch(this.#lock, observer, this.#network)
    this.#watches.add(watch)
    return watch
  }

  async close(): Promise<void> {
    await Promise.all([...this.#watches].map((watch) => watch.close()))
  }

  /** A cut ends: what was missed is reported. */
  reconnect(): void {
    for (const watch of this.#watches) watch.resync()
  }

  #request<T>(signal: AbortSignal, perform: () => Promise<T>): Promise<T> {
    const { clock, random, isCalm, isCut } = this.#network
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const onAbort = () => reject(new LockRequestError('unknown-outcome', 'aborted'))
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    const dice = random()
    const isLost = isCut() || (!isCalm() && dice < 0.04)
    const isAnswerLost = !isCalm() && random() < 0.05
    const delayMs = !isCalm() && dice > 0.9 ? random() * 9000 : latencyMs(this.#network)
    if (!isCalm() && dice < 0.08 && !isLost) {
      reject(new LockRequestError('forbidden', 'refused'))
    } else if (!isLost) {
      clock.setTimer(delayMs, () => {
        const done = perform()
        done.catch(() => {})
        clock.setTimer(latencyMs(this.#network), () => {
          if (!isAnswerLost && !isCut()) done.then(resolve, reject)
        })
      })
    }
    return promise.finally(() => signal.removeEventListener('abort', onAbort))
  }
}

/** Reports late, in order, and nothing while the network is cut. */
class LaggingWatch implements LockWatch {
  readonly #observer: LockObserver
  readonly #network: Network
  readonly #lock: Lock
  #inner: LockWatch
  #nextAt = 0
  #generation = 0

  constructor(lock: Lock, observer: LockObserver, network: Network) {
    this.#lock = lock
    this.#observer = observer
    this.#network = network
    this.#inner = this.#open()
  }

  resync(): void {
    void this.#inner.close()
    this.#later(() => this.#observer.down(new Error('the connection was lost')))
    this.#inner = this.#open()
  }

  async close(): Promise<void> {
    this.#generation += 1
    await this.#inner.close()
  }

  #open(): LockWatch {
    this.#generation += 1
    return this.#lock.watch({
      changed: (snapshot) => this.#later(() => this.#observer.changed(snapshot)),
      up: () => this.#later(() => this.#observer.up()),
      down: (cause) => this.#later(() => this.#observer.down(cause)),
    })
  }

  #later(report: () => void): void {
    const { clock, isCut } = this.#network
    const generation = this.#generation
    this.#nextAt = Math.max(this.#nextAt + 0.001, clock.now() + latencyMs(this.#network))
    clock.setTimer(this.#nextAt - clock.now(), () => {
      if (generation === this.#generation && !isCut()) report()
    })
  }
}

function latencyMs({ random, isCalm }: Network): number {
  return isCalm() || random() < 0.9 ? 1 + random() * 30 : random() * 1500
}
