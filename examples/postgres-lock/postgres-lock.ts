import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  LockRequestError,
  type LeaseRecord,
  type Lock,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import pg from 'pg'
import { Connection } from './connection.ts'
import { LeaseListener } from './lease-listener.ts'
import { leaseOf, type LeaseRow, rowContent } from './lease-row.ts'

/** Options of a {@link PostgresLock}. */
export interface PostgresLockOptions {
  /** How to reach the database. Without a pooler in between that gives a session to several clients: it loses `LISTEN`. */
  readonly connection: pg.ClientConfig
  /** Name of the lease. */
  readonly name: string
}

/**
 * Stores the lease in a row of PostgreSQL. Copy this folder and make it yours.
 *
 * Writes are conditional on the version of the row, which a sequence gives it; changes are announced by `NOTIFY`. As safe as the
 * database: a failover to a standby that lacks the last commits loses them, so use synchronous replication or none.
 */
export class PostgresLock implements Lock {
  readonly description: string
  readonly #options: PostgresLockOptions
  readonly #connection: Connection
  readonly #watches = new Set<LockWatch>()
  #isClosed = false

  /** Does no I/O. */
  constructor(options: PostgresLockOptions) {
    this.#options = options
    this.#connection = new Connection(options.connection)
    this.description = `postgres lease ${options.name}`
  }

  async get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    const [row] = await this.#connection.query<LeaseRow>(
      'SELECT version::text, record FROM tenure_leases WHERE name = $1',
      [this.#options.name],
      signal,
    )
    return row === undefined ? { kind: 'absent' } : leaseOf(row)
  }

  async create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const content = rowContent({}, record)
    const [row] = await this.#connection.query<LeaseRow>(
      'INSERT INTO tenure_leases (name, record) VALUES ($1, $2) ON CONFLICT DO NOTHING RETURNING version::text, record',
      [this.#options.name, content],
      signal,
    )
    return this.#written(row)
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const content = rowContent(base.native as LeaseRow['record'], record)
    const [row] = await this.#connection.query<LeaseRow>(
      'UPDATE tenure_leases SET record = $3 WHERE name = $1 AND version = $2 RETURNING version::text, record',
      [this.#options.name, String(base.version), content],
      signal,
    )
    return this.#written(row)
  }

  watch(observer: LockObserver): LockWatch {
    if (this.#isClosed) throw new LockRequestError('unreachable', `Could not watch ${this.description}: it is closed`)
    const listener = new LeaseListener(this.#options.connection, this.#options.name, observer)
    this.#watches.add(listener)
    return {
      close: async () => {
        this.#watches.delete(listener)
        await listener.close()
      },
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([this.#connection.close(), ...[...this.#watches].map((watch) => watch.close())])
  }

  #written(row: LeaseRow | undefined): PresentLease {
    if (row !== undefined) return leaseOf(row)
    throw new LockRequestError('conflict', `Could not write ${this.description}: it is not as it was read`)
  }
}

/** Makes the table, its sequence and its triggers, where they are missing. */
export async function createSchema(connection: pg.ClientConfig): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query(await readFile(join(import.meta.dirname, 'schema.sql'), 'utf8'))
  } finally {
    await client.end()
  }
}
