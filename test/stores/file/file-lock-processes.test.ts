import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LeaseRecord, Lock, PresentLease } from '@tenure/core'
import { FileLock } from '@tenure/file-lock'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { carelessLock } from './careless-lock.ts'
import { Contest } from './contest.ts'

const options = { signal: new AbortController().signal }
const CONTENDERS = 4
const KILLS = 12
const WINS_BETWEEN_KILLS = 25

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tenure-file-lock-'))
})

afterEach(() => rm(folder, { recursive: true, maxRetries: 5 }))

const free: LeaseRecord = {
  holderIdentity: '',
  leaseDurationSeconds: 15,
  acquireTime: undefined,
  renewTime: undefined,
  leaseTransitions: 0,
  annotations: {},
}

async function present(lock: Lock): Promise<PresentLease> {
  const lease = await lock.get(options)
  if (lease.kind === 'absent') throw new Error('Expected the lease to exist')
  return lease
}

describe('Processes that write the same file lease as fast as they can', () => {
  test('never win the same version twice, lose no write, and go on at once when one of them is killed at any moment', async () => {
    const path = join(folder, 'janitor.lease')
    const lock = new FileLock({ path })
    const first = await lock.create(free, options)
    await using contest = new Contest(path, 'file')
    for (let started = 0; started < CONTENDERS; started++) contest.start()
    for (let kill = 0; kill < KILLS; kill++) {
      await contest.untilWins(contest.wins + WINS_BETWEEN_KILLS)
      await contest.replaceOldest()
    }
    await contest.killAll()
    const last = await present(lock)
    const writes = Number(last.version - first.version)
    expect(contest.wonTwice).toEqual([])
    expect(last.record.leaseTransitions).toBe(writes)
    // What nobody says it won was won by somebody who was killed before it could say so, or who does not know.
    expect(writes).toBeGreaterThanOrEqual(contest.wins)
    expect(writes - contest.wins).toBeLessThanOrEqual(contest.kills + CONTENDERS + contest.unknown.size)
    const next = await lock.update(last, { ...last.record, holderIdentity: 'afterwards' }, options)
    expect(next.version).toBe(last.version + 1n)
    expect((await readdir(path)).filter((name) => name.endsWith('.json'))).toHaveLength(2)
    await lock.close()
  })

  test('do win the same version twice with a lock that compares and then swaps: the test can fail', async () => {
    const path = join(folder, 'careless.json')
    await carelessLock(path).create(free, options)
    await using contest = new Contest(path, 'careless')
    for (let started = 0; started < CONTENDERS; started++) contest.start()
    for (let wins = 100; wins <= 2000 && contest.wonTwice.length === 0; wins += 100) await contest.untilWins(wins)
    expect(contest.wonTwice).not.toEqual([])
  })
})
