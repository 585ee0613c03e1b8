import { MissingRowError } from '@tenure/example-fencing/missing-row-error'
import { insert, raiseFence, TABLE, write } from '@tenure/example-fencing/postgres'
import { StaleEpochError } from '@tenure/example-fencing/stale-epoch-error'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type PostgresServer, startPostgres } from '../servers/postgres-server.ts'
import { type CounterClient, countLostUpdates } from './lost-updates.ts'

const TERMS = 4
const GREATEST = 2n ** 63n - 1n

let server: PostgresServer
const clients: pg.Client[] = []

beforeAll(async () => {
  server = await startPostgres()
})

afterAll(() => server.stop())

beforeEach(async () => {
  const client = await connect()
  await client.query(`${TABLE}; TRUNCATE counters; INSERT INTO counters VALUES ('fence', 0, 0), ('a', 0, 0)`)
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()))
})

async function connect(): Promise<pg.Client> {
  const client = new pg.Client(server.connection)
  await client.connect()
  clients.push(client)
  return client
}

async function valueOf(client: pg.Client, id: string): Promise<bigint> {
  const { rows } = await client.query<{ value: string }>('SELECT value FROM counters WHERE id = $1', [id])
  return BigInt(rows[0]?.value ?? -1)
}

/** Resolves when so many sessions wait for a lock. */
async function untilWaiting(sessions: number): Promise<void> {
  const client = await connect()
  await vi.waitFor(
    async () => {
      const { rows } = await client.query(`SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'`)
      expect(rows).toHaveLength(sessions)
    },
    { timeout: 10_000, interval: 5 },
  )
}

describe('a fence in PostgreSQL', () => {
  test('lets the same term and later ones write, and no earlier one', async () => {
    const client = await connect()
    await raiseFence(client, 7n)
    await write(client, 7n, { id: 'a', value: 1n })
    await write(client, 7n, { id: 'a', value: 2n })
    await write(client, 8n, { id: 'a', value: 3n })
    await expect(write(client, 7n, { id: 'a', value: 9n })).rejects.toThrow(StaleEpochError)
    expect(await valueOf(client, 'a')).toBe(3n)
  })

  test('keeps an earlier term from inserting', async () => {
    const client = await connect()
    await raiseFence(client, 7n)
    await insert(client, 7n, { id: 'b', value: 1n })
    await raiseFence(client, 8n)
    await expect(insert(client, 7n, { id: 'c', value: 1n })).rejects.toThrow(StaleEpochError)
    expect(await valueOf(client, 'c')).toBe(-1n)
  })

  test('holds for every epoch that there can be', async () => {
    const client = await connect()
    await raiseFence(client, GREATEST)
    await write(client, GREATEST, { id: 'a', value: 1n })
    await expect(write(client, GREATEST - 1n, { id: 'a', value: 2n })).rejects.toThrow(StaleEpochError)
  })

  test('is not lowered by an earlier term that begins late', async () => {
    const client = await connect()
    await raiseFence(client, 8n)
    await expect(raiseFence(client, 7n)).rejects.toThrow(StaleEpochError)
    await expect(write(client, 7n, { id: 'a', value: 1n })).rejects.toThrow(StaleEpochError)
  })

  test('lets an earlier term update no row that it inserted while the fence was raised', async () => {
    const [former, next] = [await connect(), await connect()]
    await raiseFence(former, 7n)
    await former.query('BEGIN')
    await insert(former, 7n, { id: 'b', value: 1n })
    const raised = raiseFence(next, 8n)
    await untilWaiting(1)
    await former.query('COMMIT')
    await raised
    await expect(write(former, 7n, { id: 'b', value: 9n })).rejects.toThrow(StaleEpochError)
    expect(await valueOf(next, 'b')).toBe(1n)
  })

  test('lets an earlier term that inserts all the time update none of its rows once the fence is raised', async () => {
    const [former, next] = [await connect(), await connect()]
    // Enough rows that to raise the fence takes a while.
    await next.query(`INSERT INTO counters SELECT 'other-' || n, 0, 0 FROM generate_series(1, 500) n`)
    for (let round = 0; round < 100; round++) {
      const epoch = BigInt(10 + 2 * round)
      const inserted: string[] = []
      const insertUntilRefused = async () => {
        for (let row = 0; ; row++) {
          await insert(former, epoch, { id: `${round}-${row}`, value: 1n })
          inserted.push(`${round}-${row}`)
        }
      }
      await raiseFence(former, epoch)
      const refused = expect(insertUntilRefused()).rejects.toThrow(StaleEpochError)
      await raiseFence(next, epoch + 1n)
      await refused
      for (const id of inserted) {
        await expect(write(former, epoch, { id, value: 2n })).rejects.toThrow(StaleEpochError)
      }
    }
  })

  test('blames no later term for a row or a fence that is missing', async () => {
    const client = await connect()
    await client.query('TRUNCATE counters')
    await expect(insert(client, 7n, { id: 'b', value: 1n })).rejects.toThrow('no fence. Call `raiseFence()`')
    await raiseFence(client, 7n)
    await expect(write(client, 7n, { id: 'missing', value: 1n })).rejects.toThrow(MissingRowError)
    await raiseFence(client, 8n)
    await expect(write(client, 7n, { id: 'missing', value: 1n })).rejects.toThrow(StaleEpochError)
  })

  test('loses no increment of concurrent terms that was acknowledged', async () => {
    const terms = await Promise.all(Array.from({ length: TERMS }, connect))
    const { acknowledged, lost, refused } = await countLostUpdates(
      terms.map((client): CounterClient => ({
        begin: (epoch) => raiseFence(client, epoch),
        read: () => valueOf(client, 'a'),
        write: (epoch, value) => write(client, epoch, { id: 'a', value }),
      })),
    )
    expect(lost).toBe(0)
    expect(acknowledged).toBeGreaterThanOrEqual(TERMS * 100)
    expect(refused).toBe(TERMS - 1)
  })

  test('is what does it: the same terms without it lose increments', async () => {
    const terms = await Promise.all(Array.from({ length: TERMS }, connect))
    const { acknowledged, lost } = await countLostUpdates(
      terms.map((client): CounterClient => ({
        begin: async () => {},
        read: () => valueOf(client, 'a'),
        write: async (_epoch, value) =>
          void (await client.query('UPDATE counters SET value = $2 WHERE id = $1', ['a', value])),
      })),
    )
    expect(lost / acknowledged).toBeGreaterThan(0.01)
  })
})
