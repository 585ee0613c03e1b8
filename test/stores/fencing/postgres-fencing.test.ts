import { insert, raiseFence, TABLE, write } from '@tenure/example-fencing/postgres'
import { StaleEpochError } from '@tenure/example-fencing/stale-epoch-error'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
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
    await raiseFence(client, 7n)
    await expect(write(client, 7n, { id: 'a', value: 1n })).rejects.toThrow(StaleEpochError)
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
