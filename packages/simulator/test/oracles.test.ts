import { afterEach, describe, expect, test } from 'vitest'
import { fleetOf } from '../../../test/simulation/fleets.ts'
import { describeReport, simulateSeeds, type SimulatedWorld } from '../src/index.ts'
import type { ProcessLife } from '../src/process-life.ts'
import type { Run } from '../src/run.ts'
import { TermLife } from '../src/term-life.ts'
import type { OracleId } from '../src/violation.ts'
import { tell } from '../src/oracles/oracle.ts'
import { releaseWhenEmpty } from '../src/oracles/release-when-empty.ts'
import { quickPreference } from '../src/oracles/quick-preference.ts'
import { ORACLES } from '../src/oracles/index.ts'
import type { LockSnapshot } from '@tenure/core'
import { SimulatedLock } from '../src/cluster/simulated-lock.ts'
import { SimulatedApiServer } from '../src/cluster/simulated-api-server.ts'
import { KnownDeaths } from '../src/cluster/known-deaths.ts'
import { FencedLedger } from './ledger-controllers.ts'
import { PLANTED_DEFECTS, replaceMethod } from './planted-defects.ts'

const undos: (() => void)[] = []
afterEach(() => {
  for (const undo of undos.splice(0).toReversed()) undo()
})

test('every oracle has a planted defect', () => {
  expect(ORACLES.map(({ id }) => id).toSorted()).toEqual(Object.keys(PLANTED_DEFECTS).toSorted())
})

describe.each(Object.entries(PLANTED_DEFECTS))('Oracle %s', (id, { what, options, plant }) => {
  test(`finds ${what} within 10 000 seeds, and says it with a trace`, async () => {
    if (plant !== undefined) undos.push(plant())
    const { failures } = await simulateSeeds({ seeds: 10_000, ...options, oracles: [id as OracleId] })
    expect(failures.map(({ violations }) => new Set(violations.map(({ oracle }) => oracle)))).toEqual([new Set([id])])
    for (const failure of failures) {
      expect(describeReport(failure)).toMatch(
        /^seed s\d+-\d+, trace [0-9a-f]{16}\n(?:O\d+ is broken at .*\n {2}The rule: .*\n)+The trace before it:\n/,
      )
      expect(failure.trace.at(-1)?.text).toContain('VIOLATED')
    }
  })
})

test('O1 finds that a holder was reported dead who was only cut off', async () => {
  const reportsTheLiving = (watch: KnownDeaths['watch']) =>
    function watchAnybody(this: KnownDeaths, ...[process, identity, observer]: Parameters<KnownDeaths['watch']>) {
      process.setTimer(5000, () => observer.dead())
      return watch.call(this, process, identity, { dead: () => {} })
    }
  undos.push(replaceMethod(KnownDeaths.prototype, 'watch', reportsTheLiving))
  const { failures } = await simulateSeeds({
    seeds: 100,
    controllers: [(world) => new FencedLedger(world)],
    faults: { partition: 300, pause: 10 },
    oracles: ['O1'],
  })
  expect(failures.map(({ violations }) => violations[0]?.oracle)).toEqual(['O1'])
})

test('O1 excuses a successor that is suspended before its first renewal, until the transfer runs out', async () => {
  const { failures, terms } = await simulateSeeds({
    firstSeed: 40,
    seeds: 30,
    controllers: [(world) => new FencedLedger(world)],
    faults: { 'hand-over': 600, pause: 600, conflict: 0.3 },
    stormMs: 400_000,
    oracles: ['O1'],
  })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(30)
})

const SHORTENED = {
  seeds: 60,
  controllers: [(world: SimulatedWorld) => new FencedLedger(world)],
  faults: { 'lease-shortened': 240, partition: 60 },
  oracles: ['O1', 'O3'],
} as const

test('O1 holds where somebody shortens the lease under a leader who is cut off', async () => {
  const { failures, terms } = await simulateSeeds(SHORTENED)
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(60)
})

test('O1 finds an edit that followers take for a write of the holder: a new acquire time comes with it', async () => {
  const forge = () =>
    function asItsHolder(this: SimulatedApiServer, name: string) {
      const lease = this.read(name)
      if (lease.kind === 'absent') return false
      const forged = { leaseDurationSeconds: 1, acquireTime: lease.record.renewTime }
      this.write(name, { ...lease.record, ...forged }, lease)
      return true
    }
  undos.push(replaceMethod(SimulatedApiServer.prototype, 'shorten', forge))
  const { failures } = await simulateSeeds({ ...SHORTENED, seeds: 300 })
  expect(failures.map(({ violations }) => violations[0]?.oracle)).toEqual(['O1'])
})

const RESTORED = {
  seeds: 30,
  controllers: [(world: SimulatedWorld) => new FencedLedger(world)],
  faults: { 'store-restored': 120 },
} as const

test('every rule holds where only the store is restored, again and again', async () => {
  const { failures, terms } = await simulateSeeds(RESTORED)
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(30)
})

test('there is a leader again after a restore, and O3 and O7 hold, whatever else goes wrong', async () => {
  const others = {
    partition: 40,
    crash: 30,
    restart: 20,
    'step-down': 25,
    'hand-over': 25,
    'watch-late': 20,
    pause: 30,
  }
  const faults = { ...RESTORED.faults, ...others, 'lost-answer': 0.03, 'slow-request': 0.06 }
  const { failures, terms } = await simulateSeeds({ ...RESTORED, faults, oracles: ['O3', 'O5', 'O7'] })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(100)
})

test('O5 finds followers that drop older versions as stale, so that nobody leads after a restore', async () => {
  const newest = new WeakMap<SimulatedLock, LockSnapshot>()
  const neverOlder = (get: SimulatedLock['get']) =>
    async function fromCache(this: SimulatedLock, ...request: Parameters<SimulatedLock['get']>) {
      const read = await get.call(this, ...request)
      const known = newest.get(this)
      if (known?.kind === 'present' && (read.version ?? 0n) < known.version) return known
      newest.set(this, read)
      return read
    }
  undos.push(replaceMethod(SimulatedLock.prototype, 'get', neverOlder))
  const { failures } = await simulateSeeds({
    ...RESTORED,
    seeds: 1000,
    faults: { ...RESTORED.faults, crash: 60, 'watch-reset': 60 },
    oracles: ['O5'],
  })
  expect(failures.map(({ violations }) => violations[0]?.oracle)).toEqual(['O5'])
})

test('a sound controller breaks no rule', async () => {
  const { failures, terms } = await simulateSeeds({ seeds: 20, controllers: [(world) => new FencedLedger(world)] })
  expect(failures.map(describeReport)).toEqual([])
  expect(terms).toBeGreaterThan(30)
})

test.each([
  ['is asked to make way', false, 1],
  ['was ending before it was asked, because of a fault', true, 0],
])('O13 looks at the gap after a term that %s', (_name, isEnding, expected) => {
  const process = { identity: 'a' } as ProcessLife
  const term = new TermLife(process, 'lease', 1n)
  term.isEnding = isEnding
  const run = { now: 0, isCalm: true, timing: { leaseDurationMs: 15_000 } }
  const violations: string[] = []
  const judge = quickPreference.judge(run as Run, (message) => void violations.push(message))
  tell(judge, { kind: 'term-began', term })
  tell(judge, { kind: 'holder-preferred', holder: 'a' })
  tell(judge, { kind: 'term-over', term })
  run.now = 15_001
  tell(judge, { kind: 'task-began', term, task: 'next' })
  expect(violations).toHaveLength(expected)
})

test.each([
  ['is based on the lease of a running term', 7n, 1],
  ['is based on an earlier lease, so that it cannot succeed', 6n, 0],
])('O3 looks at a release that %s', (_name, epoch, expected) => {
  const process = { identity: 'a' } as ProcessLife
  const term = new TermLife(process, 'lease', 7n)
  term.taskBegan('sync')
  const violations: string[] = []
  const judge = releaseWhenEmpty.judge({} as Run, (message) => void violations.push(message))
  tell(judge, { kind: 'term-began', term })
  tell(judge, { kind: 'lease-given-up', process, lease: 'lease', epoch })
  expect(violations).toHaveLength(expected)
})

test('O12 excuses a process that wakes from a suspension with less time left than its tasks may take to end', async () => {
  const firstSeed = 52_234
  const { failures } = await simulateSeeds({ ...fleetOf(firstSeed).options, firstSeed, seeds: 1, oracles: ['O12'] })
  expect(failures.map(describeReport)).toEqual([])
})
