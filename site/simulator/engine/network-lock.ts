import type {
  LeaseRecord,
  Lock,
  LockObserver,
  LockSnapshot,
  LockWatch,
  MemoryLeaseStore,
  PresentLease,
} from '@tenure/core'
import type { Random } from '@tenure/core/internal'
import type { VirtualClock } from '@tenure/testing/virtual-clock'
import type { ReplicaProcess } from './replica-process.ts'

/** The name of the lease. */
export const LEASE = 'janitor'

/** The process notices a dead connection after this time, and connects again after as much. */
const SILENCE_MS = 500

/** What connects a replica with the store of the lease. */
export interface Connection {
  readonly store: MemoryLeaseStore
  /** The true time. */
  readonly world: VirtualClock
  readonly random: Random
  readonly process: ReplicaProcess
  /** Whether no message passes. */
  isCut(): boolean
}

/** The time that one message takes. */
export function latencyMs(random: Random): number {
  return 5 + 35 * random()
}

/** The memory lock of one process behind a network: messages take time, and get lost while the replica is cut off. */
export class NetworkLock implements Lock {
  readonly description = `memory lease ${LEASE}`
  readonly #connection: Connection
  readonly #watches = new Set<NetworkWatch>()

  constructor(connection: Connection) {
    this.#connection = connection
  }

  get(): Promise<LockSnapshot> {
    return this.#request(() => this.#connection.store.read(LEASE))
  }

  create(record: LeaseRecord): Promise<PresentLease> {
    return this.#request(() => this.#connection.store.write(LEASE, record, undefined))
  }

  update(base: PresentLease, record: LeaseRecord): Promise<PresentLease> {
    return this.#request(() => this.#connection.store.write(LEASE, record, base.version))
  }

  watch(observer: LockObserver): LockWatch {
    const watch = new NetworkWatch(this.#connection, observer)
    this.#watches.add(watch)
    return watch
  }

  /** Disconnects the watches. */
  cut(): void {
    for (const watch of this.#watches) watch.break()
  }

  /** The process has ended. */
  async close(): Promise<void> {
    await Promise.all([...this.#watches].map((watch) => watch.close()))
  }

  /** A lost message is never answered: the elector has a timeout. */
  #request<T>(apply: () => T): Promise<T> {
    const { world, random, process } = this.#connection
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const answer = (settle: () => void): void => {
      world.setTimer(latencyMs(random), () => {
        if (!this.#connection.isCut()) process.receive(settle)
      })
    }
    world.setTimer(latencyMs(random), () => {
      if (this.#connection.isCut()) return
      try {
        const result = apply()
        answer(() => resolve(result))
      } catch (error) {
        answer(() => reject(error))
      }
    })
    return promise
  }
}

/** Reports the lease and then its changes, in order. Connects again after a loss. */
class NetworkWatch implements LockWatch {
  readonly #connection: Connection
  readonly #observer: LockObserver
  #isClosed = false
  /** Reports of an earlier connection are dropped. */
  #number = 0
  #deliveredAt = 0
  #unsubscribe = (): void => {}

  constructor(connection: Connection, observer: LockObserver) {
    this.#connection = connection
    this.#observer = observer
    this.#connect()
  }

  break(): void {
    const number = this.#disconnect()
    this.#later(SILENCE_MS, number, () => {
      this.#observer.down(new Error('The connection is lost'))
      this.#connectLater()
    })
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#disconnect()
  }

  #disconnect(): number {
    this.#unsubscribe()
    return ++this.#number
  }

  #connectLater(): void {
    this.#later(SILENCE_MS, this.#number, () => (this.#connection.isCut() ? this.#connectLater() : this.#connect()))
  }

  #connect(): void {
    const number = this.#disconnect()
    this.#unsubscribe = this.#connection.store.observe(LEASE, {
      changed: (snapshot) => this.#report(number, () => this.#observer.changed(snapshot)),
      up: () => this.#report(number, () => this.#observer.up()),
      down: () => {},
    })
  }

  #report(number: number, report: () => void): void {
    const { world, random } = this.#connection
    this.#deliveredAt = Math.max(this.#deliveredAt, world.now() + latencyMs(random))
    this.#later(this.#deliveredAt - world.now(), number, report)
  }

  #later(ms: number, number: number, callback: () => void): void {
    const { world, process } = this.#connection
    world.setTimer(ms, () =>
      process.receive(() => {
        if (number === this.#number && !this.#isClosed) callback()
      }),
    )
  }
}
