import { MissingRowError } from '@tenure/example-fencing/missing-row-error'
import { raiseFence, write } from '@tenure/example-fencing/redis'
import { StaleEpochError } from '@tenure/example-fencing/stale-epoch-error'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../servers/redis-server.ts'
import { type CounterClient, countLostUpdates } from './lost-updates.ts'

const TERMS = 4
const GREATEST = 2n ** 63n - 1n
const KEY = '{counters}:a'

let server: RedisServer
const clients: ReturnType<typeof open>[] = []

beforeAll(async () => {
  server = await startRedis()
})

afterAll(() => server.stop())

beforeEach(async () => {
  await (await connect()).flushAll()
})

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

function open() {
  return createClient({ socket: { path: server.socket, tls: false } })
}

async function connect(): Promise<ReturnType<typeof open>> {
  const client = open()
  clients.push(client)
  await client.connect()
  return client
}

describe('a fence in Redis', () => {
  test('lets the same term and later ones write, and no earlier one', async () => {
    const client = await connect()
    await raiseFence(client, 7n)
    await write(client, 7n, { id: 'a', value: 1n })
    await write(client, 7n, { id: 'a', value: 2n })
    await write(client, 8n, { id: 'a', value: 3n })
    await expect(write(client, 7n, { id: 'a', value: 9n })).rejects.toThrow(StaleEpochError)
    expect(await client.get(KEY)).toBe('3')
  })

  test('compares epochs as numbers, however long', async () => {
    const client = await connect()
    await raiseFence(client, 9n)
    await raiseFence(client, 10n)
    await expect(write(client, 9n, { id: 'a', value: 1n })).rejects.toThrow(StaleEpochError)
    await raiseFence(client, GREATEST)
    await write(client, GREATEST, { id: 'a', value: 1n })
    await expect(write(client, GREATEST - 1n, { id: 'a', value: 2n })).rejects.toThrow(StaleEpochError)
  })

  test('is not lowered by an earlier term that begins late, which hears of it', async () => {
    const client = await connect()
    await raiseFence(client, 8n)
    await expect(raiseFence(client, 7n)).rejects.toThrow(StaleEpochError)
    await expect(write(client, 7n, { id: 'a', value: 1n })).rejects.toThrow(StaleEpochError)
  })

  test('lets no term write while the fence is gone, and blames no later term', async () => {
    const client = await connect()
    await raiseFence(client, 8n)
    await client.del('{counters}:epoch')
    await expect(write(client, 7n, { id: 'a', value: 1n })).rejects.toThrow('no fence. Call `raiseFence()`')
    await expect(write(client, 8n, { id: 'a', value: 1n })).rejects.toThrow(MissingRowError)
    expect(await client.get(KEY)).toBe(null)
  })

  test('loses no acknowledged update of keys that an earlier term creates and updates all the time', async () => {
    const [former, next] = [await connect(), await connect()]
    for (let round = 0; round < 100; round++) {
      const [epoch, id] = [BigInt(10 + 2 * round), `key-${round}`]
      await raiseFence(former, epoch)
      let acknowledged = -1n
      const zombie = (async () => {
        for (; ; acknowledged++) await write(former, epoch, { id, value: acknowledged + 1n })
      })()
      const ended = zombie.catch((error: unknown) => error)
      await raiseFence(next, epoch + 1n)
      const seen = BigInt((await next.get(`{counters}:${id}`)) ?? -1)
      await write(next, epoch + 1n, { id, value: seen })
      expect(await ended).toBeInstanceOf(StaleEpochError)
      expect(acknowledged).toBe(seen)
    }
  })

  test('loses no increment of concurrent terms that was acknowledged', async () => {
    const terms = await Promise.all(Array.from({ length: TERMS }, connect))
    const { acknowledged, lost, refused } = await countLostUpdates(
      terms.map((client): CounterClient => ({
        begin: (epoch) => raiseFence(client, epoch),
        read: async () => BigInt((await client.get(KEY)) ?? 0),
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
        read: async () => BigInt((await client.get(KEY)) ?? 0),
        write: async (_epoch, value) => void (await client.set(KEY, String(value))),
      })),
    )
    expect(lost / acknowledged).toBeGreaterThan(0.01)
  })
})
