import { MissingRowError } from './missing-row-error.ts'
import { StaleEpochError } from './stale-epoch-error.ts'

/** What of a Redis client is used here; `createClient()` of the package `redis` returns one. */
export interface Redis {
  eval(script: string, options: { keys: string[]; arguments: string[] }): Promise<unknown>
}

/**
 * Sets a value unless a later term has been seen, or the fence is gone: evicted, expired or deleted. Only `raiseFence()`, which has
 * no value to set, creates it. Runs in Redis as a whole. Epochs are compared as decimal text, the longer one being the greater,
 * because a number of Lua has 53 bits. In a cluster, both keys need the same hash tag, as here.
 */
const WRITE = `
local seen = redis.call('GET', KEYS[1])
if KEYS[2] and not seen then return -1 end
if seen and (#seen > #ARGV[1] or (#seen == #ARGV[1] and seen > ARGV[1])) then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
if KEYS[2] then redis.call('SET', KEYS[2], ARGV[2]) end
return 1`

/**
 * At the beginning of a term, before anything is read: from here on, no earlier term can write what this one reads.
 * @throws StaleEpochError when a later term has begun
 */
export async function raiseFence(redis: Redis, epoch: bigint): Promise<void> {
  await run(redis, epoch, ['{counters}:epoch'], [])
}

/** Every write of the term. @throws StaleEpochError when a later term has begun @throws MissingRowError when there is no fence */
export async function write(redis: Redis, epoch: bigint, entry: { id: string; value: bigint }): Promise<void> {
  await run(redis, epoch, ['{counters}:epoch', `{counters}:${entry.id}`], [String(entry.value)])
}

async function run(redis: Redis, epoch: bigint, keys: string[], values: string[]): Promise<void> {
  const done = await redis.eval(WRITE, { keys, arguments: [String(epoch), ...values] })
  if (done === -1) throw new MissingRowError('fence')
  if (done !== 1) throw new StaleEpochError(epoch)
}
