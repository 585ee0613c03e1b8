import type { LockObserver, LockSnapshot, LockWatch } from '@tenure/core'
import pg from 'pg'
import { destroy } from './cancellation.ts'
import { leaseOf, type LeaseRow } from './lease-row.ts'

/** A connection that is silent for this long gets a query, and must answer it within the same time. */
const SILENCE_MS = 2000
const LONGEST_PAUSE_MS = 5000

interface Announcement {
  readonly name: string
  readonly version: string
  readonly record?: LeaseRow['record']
  readonly tooLong?: true
}

/** Follows one lease with `LISTEN`, on its own connection, and reconnects when the connection breaks. */
export class LeaseListener implements LockWatch {
  readonly #config: pg.ClientConfig
  readonly #name: string
  readonly #observer: LockObserver
  readonly #running: Promise<void>
  #stop: () => void = () => {}
  #isClosed = false
  #isUp = false
  #last: LockSnapshot | undefined

  constructor(config: pg.ClientConfig, name: string, observer: LockObserver) {
    this.#config = config
    this.#name = name
    this.#observer = observer
    this.#running = this.#run()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stop()
    await this.#running
  }

  async #run(): Promise<void> {
    await Promise.resolve()
    for (let failures = 0; !this.#isClosed; failures++) {
      const listening = await this.#listen()
      if (this.#isClosed) return
      if (listening.wasUp) failures = 0
      this.#isUp = false
      this.#observer.down(listening.cause)
      await this.#pause(Math.min(100 * 2 ** failures, LONGEST_PAUSE_MS))
    }
  }

  /** Listens until the connection breaks or the listener is closed. */
  async #listen(): Promise<{ readonly cause: Error; readonly wasUp: boolean }> {
    const client = new pg.Client({ ...this.#config, connectionTimeoutMillis: SILENCE_MS, query_timeout: SILENCE_MS })
    const broken = Promise.withResolvers<Error>()
    client.on('error', broken.resolve)
    client.on('end', () => broken.resolve(new Error('The connection ended')))
    client.on('notification', ({ payload }) => void this.#heard(client, payload ?? '{}').catch(broken.resolve))
    this.#stop = () => broken.resolve(new Error('The listener is closed'))
    let heartbeat: NodeJS.Timeout | undefined
    try {
      await client.connect()
      await client.query('LISTEN tenure_leases')
      await this.#read(client)
      if (!this.#isClosed) this.#observer.up()
      this.#isUp = true
      heartbeat = setInterval(() => void this.#read(client).catch(broken.resolve), SILENCE_MS)
      return { cause: await broken.promise, wasUp: true }
    } catch (error) {
      return { cause: error instanceof Error ? error : new Error(String(error)), wasUp: this.#isUp }
    } finally {
      clearInterval(heartbeat)
      destroy(client)
    }
  }

  async #heard(client: pg.Client, payload: string): Promise<void> {
    const { name, version, record, tooLong }: Announcement = JSON.parse(payload)
    if (name !== this.#name) return
    if (tooLong) await this.#read(client)
    else
      this.#report(record === undefined ? { kind: 'absent', version: BigInt(version) } : leaseOf({ version, record }))
  }

  async #read(client: pg.Client): Promise<void> {
    const { rows } = await client.query<LeaseRow>('SELECT version::text, record FROM tenure_leases WHERE name = $1', [
      this.#name,
    ])
    const [row] = rows
    // A deletion takes a number of the sequence, too. The number of a missed deletion is unknown, but it is at least this.
    const version = this.#last?.version === undefined ? 0n : this.#last.version + 1n
    this.#report(row === undefined ? { kind: 'absent', version } : leaseOf(row))
  }

  #report(snapshot: LockSnapshot): void {
    const last = this.#last
    const isNews =
      last === undefined ||
      ((snapshot.version ?? 0n) > (last.version ?? 0n) && (snapshot.kind === 'present' || last.kind === 'present'))
    if (this.#isClosed || !isNews) return
    this.#last = snapshot
    this.#observer.changed(snapshot)
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#stop = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
