import { MissingRowError } from '@tenure/example-fencing/missing-row-error'
import { insert, raiseFence, TABLE, write } from '@tenure/example-fencing/postgres'
import { StaleEpochError } from '@tenure/example-fencing/stale-epoch-error'
import { createSchema, PostgresLock } from '@tenure/example-postgres-lock'
import pg from 'pg'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { type PostgresServer, startPostgres } from '../stores/servers/postgres-server.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
  await createSchema(server.connection)
})
afterAll(() => server.stop())

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(server.connection)
  await client.connect()
  onTestFinished(() => client.end())
  return client
}

const waiting = (client: pg.Client) =>
  client.query<{ pid: number }>(`SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)

async function untilOneWaits(client: pg.Client): Promise<void> {
  await vi.waitFor(async () => expect((await waiting(client)).rows).toHaveLength(1), { timeout: 10_000, interval: 2 })
}

function expectStale(error: unknown): void {
  expect(error).toBeInstanceOf(StaleEpochError)
}

test('The fence in PostgreSQL loses no acknowledged write of a term that inserts and updates while the next one begins', async () => {
  const [former, next] = [await connect(), await connect()]
  // Enough rows that to raise the fence takes a while.
  const others = `INSERT INTO counters SELECT 'other-' || n, 0, 0 FROM generate_series(1, 500) n`
  await next.query(`${TABLE}; TRUNCATE counters; ${others}; INSERT INTO counters VALUES ('fence', 0, 0)`)
  let lost = 0
  for (let round = 0; round < 100; round++) {
    const epoch = BigInt(10 + 2 * round)
    const inserted: string[] = []
    const acts = Promise.withResolvers<void>()
    const insertUntilRefused = async () => {
      for (let row = 0; ; row++) {
        await insert(former, epoch, { id: `${round}-${row}`, value: 1n })
        inserted.push(`${round}-${row}`)
        acts.resolve()
      }
    }
    await raiseFence(former, epoch)
    const refused = expect(insertUntilRefused()).rejects.toThrow(StaleEpochError)
    await acts.promise
    await raiseFence(next, epoch + 1n)
    await refused
    for (const id of inserted) await write(former, epoch, { id, value: 2n }).then(() => (lost += 1), expectStale)
  }
  expect(lost).toBe(0)
})

test('A row that a former term inserts in an open transaction while the fence is raised is raised as well', async () => {
  const [former, next, observer] = [await connect(), await connect(), await connect()]
  await next.query(`${TABLE}; TRUNCATE counters`)
  await raiseFence(former, 7n)
  await former.query('BEGIN')
  await insert(former, 7n, { id: 'late', value: 1n })
  const raised = raiseFence(next, 8n)
  await untilOneWaits(observer)
  await former.query('COMMIT')
  await raised
  await expect(write(former, 7n, { id: 'late', value: 2n })).rejects.toThrow(StaleEpochError)
})

test('A missing row and a missing fence are not blamed on a later term', async () => {
  const client = await connect()
  await client.query(`${TABLE}; TRUNCATE counters`)
  await expect(insert(client, 7n, { id: 'a', value: 1n })).rejects.toThrow(MissingRowError)
  await raiseFence(client, 7n)
  await expect(write(client, 7n, { id: 'a', value: 1n })).rejects.toThrow(MissingRowError)
  await insert(client, 7n, { id: 'a', value: 1n })
})

test('An aborted update of the PostgreSQL lock that waits for a row does not land after the lock is closed', async () => {
  const { signal } = new AbortController()
  const record = {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-02T03:04:05.000001Z',
    renewTime: '2026-01-02T03:04:06.000002Z',
    leaseTransitions: 0,
    annotations: {},
  }
  const [other, observer] = [await connect(), await connect()]
  const lock = new PostgresLock({ connection: server.connection, name: 'attacked' })
  const lease = await lock.create(record, { signal })
  await other.query('BEGIN')
  await other.query(`SELECT FROM tenure_leases WHERE name = 'attacked' FOR UPDATE`)
  const aborting = new AbortController()
  const rejected = expect(lock.update(lease, record, { signal: aborting.signal })).rejects.toThrow()
  await untilOneWaits(observer)
  aborting.abort()
  await lock.close()
  expect((await waiting(observer)).rows).toEqual([])
  await other.query('COMMIT')
  await rejected
  const { rows } = await observer.query<{ version: string }>(
    `SELECT version FROM tenure_leases WHERE name = 'attacked'`,
  )
  expect(rows).toEqual([{ version: String(lease.version) }])
})
