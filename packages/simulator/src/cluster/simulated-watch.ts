import type { LockObserver, LockSnapshot, LockWatch } from '@tenure/core'
import type { Cluster } from './cluster.ts'
import { latencyMs } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** The process notices a silent connection after at most this time. */
const MAX_SILENCE_MS = 15_000

/** The delay before the next attempt to connect. */
const RECONNECT_MS = 1000

/**
 * The watch of one process on one lease. It reports the lease when it connects, and then every change, in order. After a disconnect it
 * reconnects.
 */
export class SimulatedWatch implements LockWatch {
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #lease: string
  readonly #observer: LockObserver
  #isClosed = false
  #disconnect: (() => void) | undefined
  /** The number of the connection. Reports of an earlier connection are dropped. */
  #connection = 0
  #deliveredAt = 0
  #lateUntil = 0
  #isDeaf = false

  constructor(cluster: Cluster, process: SimulatedProcess, lease: string, observer: LockObserver) {
    this.#cluster = cluster
    this.#process = process
    this.#lease = lease
    this.#observer = observer
    process.watches.add(this)
    this.#connectIn(0)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#process.watches.delete(this)
    this.#disconnect?.()
  }

  /** Disconnects. The process notices within `noticeMs`. */
  break(cause: Error, noticeMs: number): void {
    if (this.#disconnect === undefined) return
    this.#disconnect()
    this.#disconnect = undefined
    const connection = ++this.#connection
    this.#later(noticeMs, () => {
      if (connection !== this.#connection) return
      this.#observer.down(cause)
      this.#connectIn(this.#cluster.random() * RECONNECT_MS)
    })
  }

  /** Reports nothing for a while, then disconnects. */
  goDeaf(ms: number): void {
    this.#isDeaf = true
    const connection = this.#connection
    this.#later(Math.min(ms, MAX_SILENCE_MS), () => {
      if (connection === this.#connection) this.break(new Error('no message for too long'), 0)
    })
  }

  /** Reports late until `ms` from now. */
  delay(ms: number): void {
    this.#lateUntil = this.#cluster.now + ms
  }

  /** Ends the delay. A disconnected watch reconnects by itself. */
  heal(): void {
    this.#lateUntil = 0
  }

  #connectIn(ms: number): void {
    const connection = ++this.#connection
    const { random } = this.#cluster
    this.#later(ms + latencyMs(random), () => {
      if (connection !== this.#connection || this.#isClosed) return
      if (this.#process.isCutOff || this.#cluster.now < this.#cluster.server.downUntil) {
        this.#connectIn((0.5 + random()) * RECONNECT_MS)
        return
      }
      this.#connect(connection)
    })
  }

  #connect(connection: number): void {
    const { server, random } = this.#cluster
    this.#isDeaf = false
    this.#report(server.read(this.#lease), connection)
    this.#later(this.#deliveredAt - this.#cluster.now, () => {
      if (connection === this.#connection && !this.#isClosed) this.#observer.up()
    })
    this.#disconnect = server.watch(
      this.#lease,
      (snapshot) => this.#report(snapshot, connection),
      (cause) => this.break(cause, latencyMs(random)),
    )
  }

  /** Reports a snapshot. Reports of one connection arrive in order. */
  #report(snapshot: LockSnapshot, connection: number): void {
    const { now, random } = this.#cluster
    if (this.#isDeaf) return
    const lateMs = now < this.#lateUntil ? random() * (this.#lateUntil - now) : 0
    this.#deliveredAt = Math.max(this.#deliveredAt, now + lateMs + latencyMs(random))
    this.#later(this.#deliveredAt - now, () => {
      if (connection === this.#connection && !this.#isClosed && !this.#isDeaf) this.#receive(snapshot)
    })
  }

  #receive(snapshot: LockSnapshot): void {
    if (this.#process.isCutOff) {
      // A lost report does not come again on this connection. The watch finds it dead, and the next connection reports the latest state.
      this.goDeaf(this.#cluster.random() * MAX_SILENCE_MS)
      return
    }
    this.#observer.changed(snapshot)
  }

  #later(ms: number, run: () => void): void {
    this.#process.post(this.#cluster.now + ms, run, 'network')
  }
}
