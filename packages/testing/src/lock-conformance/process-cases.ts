import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import type { LockFixture, LockModule, LockRequirement } from './lock-fixture.ts'
import { LockProcess, type Win } from './lock-process.ts'
import { assertStored } from './request-cases.ts'
import { sampleRecord, unaborted } from './sample-records.ts'
import { within } from './within.ts'
import { WatchRecorder } from './watch-recorder.ts'

const PROCESSES = ['process-a', 'process-b', 'process-c']
const CONTEST_MS = 1000
const CREATIONS = 5
const KILL_AFTER_MS = 100

type OpenElsewhere<Fixture> = (fixture: Fixture) => LockModule

/** Requirements between processes. Only these cases detect a lock that excludes within one process only. */
export function processCases<Fixture extends LockFixture>(
  openElsewhere: OpenElsewhere<Fixture>,
): readonly LockRequirement<Fixture>[] {
  return [
    oneCreation(openElsewhere),
    oneWinnerPerVersion(openElsewhere),
    survivalOfKills(openElsewhere),
    visibleWrites(openElsewhere),
  ]
}

function oneCreation<Fixture extends LockFixture>(openElsewhere: OpenElsewhere<Fixture>): LockRequirement<Fixture> {
  return {
    name: 'lets exactly one of several processes create the lease',
    check: async (fixture) => {
      await using processes = await startAll(openElsewhere(fixture))
      for (let round = 0; round < CREATIONS; round++) {
        const creates = processes.all.map((process, index) =>
          process.create(sampleRecord({ holderIdentity: PROCESSES[index] ?? '' })),
        )
        const outcomes = await Promise.allSettled(creates)
        const won = outcomes.filter(({ status }) => status === 'fulfilled')
        assert.equal(won.length, 1, `expected one process to create the lease, but ${won.length} did`)
        await fixture.deleteLease()
      }
    },
  }
}

function oneWinnerPerVersion<Fixture extends LockFixture>(
  openElsewhere: OpenElsewhere<Fixture>,
): LockRequirement<Fixture> {
  return {
    name: 'lets no two processes win the same version',
    check: async (fixture) => {
      await fixture.openLock().create(sampleRecord(), unaborted())
      await using processes = await startAll(openElsewhere(fixture))
      const contests = processes.all.map((process, index) => process.contend(PROCESSES[index] ?? '', CONTEST_MS))
      assertOneWinnerEach((await Promise.all(contests)).flat())
    },
  }
}

function survivalOfKills<Fixture extends LockFixture>(openElsewhere: OpenElsewhere<Fixture>): LockRequirement<Fixture> {
  return {
    name: 'goes on when another process is killed in the middle of its writes',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      await lock.create(sampleRecord(), unaborted())
      await using processes = await startAll(openElsewhere(fixture))
      const [alone, beside, last] = processes.all
      assert.ok(alone !== undefined && beside !== undefined && last !== undefined)
      await killAtWork(alone)
      const contest = last.contend('last', CONTEST_MS)
      await killAtWork(beside)
      const wins = await within(CONTEST_MS + patienceMs, contest)
      assert.ok(wins !== undefined, 'expected a process to end its writes after another was killed')
      assertOneWinnerEach(wins)
      const lease = await lock.get(unaborted())
      assert.equal(lease.kind, 'present')
      const update = lock.update(lease, sampleRecord({ holderIdentity: 'after' }), unaborted())
      const updated = await within(patienceMs, update)
      assert.ok(updated !== undefined, `expected a write within ${patienceMs} ms after another process was killed`)
    },
  }
}

function visibleWrites<Fixture extends LockFixture>(openElsewhere: OpenElsewhere<Fixture>): LockRequirement<Fixture> {
  return {
    name: 'shows a write of one process to the reads and watches of another, and takes writes on it',
    check: async (fixture, { patienceMs }) => {
      const lock = fixture.openLock()
      await using watch = WatchRecorder.start(lock, patienceMs)
      await watch.untilUp()
      await using process = await LockProcess.start(openElsewhere(fixture))
      const created = await process.create(sampleRecord())
      const seen = await lock.get(unaborted())
      assert.deepEqual([seen.version, seen.kind], [created.version, 'present'])
      const updated = await process.update(created.version ?? 0n, sampleRecord({ leaseTransitions: 5 }))
      await watch.until('the write of the other process is reported', () => watch.last?.version === updated.version)
      const base = watch.last
      assert.equal(base?.kind, 'present')
      await assertStored(lock, await lock.update(base, sampleRecord({ leaseTransitions: 6 }), unaborted()))
      assert.equal((await process.get()).record?.leaseTransitions, 6)
    },
  }
}

async function killAtWork(victim: LockProcess): Promise<void> {
  const contest = victim.contend('victim', 60_000).catch(() => [])
  await delay(KILL_AFTER_MS)
  await victim.kill()
  await contest
}

interface Processes extends AsyncDisposable {
  readonly all: readonly LockProcess[]
}

async function startAll(module: LockModule): Promise<Processes> {
  const started = await Promise.allSettled(PROCESSES.map(() => LockProcess.start(module)))
  const all = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const end = async () => void (await Promise.all(all.map((process) => process[Symbol.asyncDispose]())))
  const failed = started.find(({ status }) => status === 'rejected')
  if (failed?.status === 'rejected') {
    await end()
    throw failed.reason
  }
  return { all, [Symbol.asyncDispose]: end }
}

/** Each version is one write on one base. Two writes on the same base are a failure of mutual exclusion. */
function assertOneWinnerEach(wins: readonly Win[]): void {
  assert.ok(wins.length > 0, 'expected some writes to succeed')
  for (const key of ['base', 'version'] as const) {
    const times = new Map<bigint, number>()
    for (const win of wins) times.set(win[key], (times.get(win[key]) ?? 0) + 1)
    const shared = [...times.values()].filter((count) => count > 1).length
    assert.equal(
      shared,
      0,
      `expected each version to be won once, but ${shared} of ${times.size} were won more than once`,
    )
  }
}
