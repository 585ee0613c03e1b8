import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { Controller, OptionsError, type Term } from '@tenure/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { FAULT_KINDS, simulate, simulateSeeds, type SimulatedWorld, type SimulateOptions } from '../src/index.ts'
import { SEED_VARIABLE } from '../src/simulate.ts'
import { RealWorldError } from '../src/real-world/real-world-error.ts'
import { FencedLedger, WriteAfterSignal } from './ledger-controllers.ts'

const ledger = (world: SimulatedWorld) => new FencedLedger(world)

afterEach(() => {
  vi.unstubAllEnvs()
})

/** A controller that does something once at the start of every term. */
function doing(work: (term: Term, world: SimulatedWorld) => unknown) {
  class Doing extends Controller {
    readonly name = 'doing'
    readonly #world: SimulatedWorld

    constructor(world: SimulatedWorld) {
      super()
      this.#world = world
    }

    async run(term: Term): Promise<void> {
      await work(term, this.#world)
      await term.sleep(1e12)
    }
  }
  return (world: SimulatedWorld) => new Doing(world)
}

describe('A simulation', () => {
  test('is the same run every time, 100 times of 100', async () => {
    const options = { controllers: [ledger], seed: 7, durationMs: 60_000 }
    const first = await simulate(options)
    expect(first.terms).toBeGreaterThan(0)
    expect(first.coverage.size).toBeGreaterThan(3)
    for (let run = 0; run < 99; run++) {
      const { traceHash, events } = await simulate(options)
      expect({ traceHash, events }).toEqual({ traceHash: first.traceHash, events: first.events })
    }
  })

  test('replays a failure identically, 100 times of 100', async () => {
    const racy = {
      controllers: [(world: SimulatedWorld) => new WriteAfterSignal(world)],
      faults: { 'step-down': 300, 'slow-request': 0.2, 'lost-answer': 0.1 },
    }
    const { failures } = await simulateSeeds({ seeds: 10_000, ...racy })
    const [failure] = failures
    if (failure === undefined) throw new Error('Expected a failure')
    for (let run = 0; run < 100; run++) {
      const replay = await simulate({ ...racy, seed: failure.seed })
      expect(replay.traceHash).toBe(failure.traceHash)
      expect(replay.violations).toEqual(failure.violations)
    }
  })

  test('has the same hash in every copy of a project, although errors name the folder of their place', async () => {
    const failingAt = (place: string) =>
      simulate({ controllers: [doing(() => Promise.reject(new Error(`stuck (at ${place})`)))], faults: {} })
    const [first, copy, other] = await Promise.all([
      failingAt('file:///ci/build/main.ts:1:2'),
      failingAt('file:///home/user/project/main.ts:1:2'),
      failingAt('file:///ci/build/other.ts:1:2'),
    ])
    expect(copy.traceHash).toBe(first.traceHash)
    expect(other.traceHash).not.toBe(first.traceHash)
  })

  test('differs from seed to seed', async () => {
    const hashes = new Set<string>()
    for (let seed = 0; seed < 20; seed++) {
      hashes.add((await simulate({ controllers: [ledger], seed, durationMs: 60_000 })).traceHash)
    }
    expect(hashes.size).toBe(20)
  })

  test('meets every kind of fault within a hundred seeds, but those that must be asked for', async () => {
    const { coverage } = await simulateSeeds({ seeds: 100, controllers: [doing(() => {})], durationMs: 200_000 })
    const onRequest: readonly string[] = ['lease-shortened', 'foreign-leader', 'store-restored', 'step-down-requested']
    expect([...coverage.keys()].toSorted()).toEqual(FAULT_KINDS.filter((kind) => !onRequest.includes(kind)).toSorted())
  })

  test('has no fault where none is wanted', async () => {
    const report = await simulate({ controllers: [ledger], faults: {}, lease: { missingLease: 'create' } })
    expect(report.coverage.size).toBe(0)
    expect(report.terms).toBe(1)
    expect(report.violations).toEqual([])
  })

  test('runs the seed that the environment names', async () => {
    vi.stubEnv(SEED_VARIABLE, 's4-7')
    expect((await simulate({ controllers: [ledger], durationMs: 60_000 })).seed).toBe('s4-7')
    expect((await simulateSeeds({ controllers: [ledger], durationMs: 60_000, seeds: 50 })).seeds).toBe(1)
  })
})

describe('Bad input of a simulation is refused:', () => {
  test.each<readonly [string, Partial<SimulateOptions>, RegExp]>([
    ['a seed of another version', { seed: 's9-1' }, /Expected `seed` to be of version 4 .* got `s9-1` of version 9/],
    ['something that is no seed', { seed: 'tomorrow' }, /Expected `seed` to look like `s4-42`, got `tomorrow`/],
    ['a seed below zero', { seed: -1 }, /Expected `seed` to be a whole number/],
    ['no replica', { replicas: 0 }, /Expected `replicas` to be a whole number from 1 to 100, got `0`/],
    ['no time', { durationMs: 0 }, /Expected `durationMs` to be a number of milliseconds above 0, got `0`/],
    ['a share above 1', { faults: { 'lost-answer': 2 } }, /Expected `faults.lost-answer` to be a share/],
    ['timing that is not safe', { lease: { renewDeadlineMs: 14_000 } }, /Expected `renewDeadlineMs`/],
    ['an unknown rule', { oracles: ['O0' as 'O1'] }, /Expected `oracles` to be among O1, .* got `O0`/],
    [
      'an unknown workload',
      { rollouts: 'DaemonSet' as 'Deployment' },
      /Expected `rollouts` to be among Deployment, .* got `DaemonSet`/,
    ],
    ['an unknown option', { replica: 3 } as object, /`replica`/],
    ['an unknown fault', { faults: { partitoin: 3 } as object }, /`partitoin`/],
    ['no controllers', { controllers: 3 as unknown as [] }, /Expected `controllers` to be a list of functions/],
  ])('%s', async (_name, options, message) => {
    const error: unknown = await simulate({ controllers: [ledger], ...options }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(OptionsError)
    expect(String(error)).toMatch(message)
  })
})

describe('A controller that leaves the simulation gets an error with the call and the place:', () => {
  test.each<readonly [string, (term: Term) => unknown]>([
    ['Date.now()', () => Date.now()],
    ['new Date()', () => new Date()],
    ['performance.now()', () => performance.now()],
    ['process.hrtime.bigint()', () => process.hrtime.bigint()],
    ['setTimeout()', () => setTimeout(() => {}, 1)],
    ['setInterval()', () => setInterval(() => {}, 1)],
    ['setImmediate()', () => setImmediate(() => {})],
    ['timers/promises setTimeout()', () => sleep(1)],
    ['AbortSignal.timeout()', () => AbortSignal.timeout(1)],
    ['Math.random()', () => Math.random()],
    ['crypto.randomUUID()', () => randomUUID()],
    ['crypto.randomUUID()', () => crypto.randomUUID()],
    ['fetch()', () => fetch('http://127.0.0.1:1/')],
    ['fs/promises readFile()', () => readFile('package.json')],
    ['net.Socket.connect()', () => connect({ port: 1, host: '127.0.0.1' })],
  ])('%s', async (call, work) => {
    const controllers = [doing((term) => Promise.resolve(work(term)).catch(() => {}))]
    const error: unknown = await simulate({ controllers, faults: {} }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(RealWorldError)
    expect((error as RealWorldError).calls.map((made) => made.call)).toContain(call)
    expect((error as RealWorldError).calls[0]?.place).toMatch(/simulator\/test\/simulate\.test\.ts:\d+:\d+$/)
  })

  test('even if it swallows the error, and after the term, where nobody tracks it', async () => {
    const controllers = [
      doing((_term, world) => {
        world.clock.setTimer(5000, () => {
          try {
            Math.random()
          } catch {
            // No error is reported.
          }
        })
      }),
    ]
    await expect(simulate({ controllers, faults: {} })).rejects.toThrow(/`Math\.random\(\)` at .*simulate\.test\.ts/)
  })

  test('but a date that is not now is fine, and so is the real world before and after', async () => {
    const before = Date.now()
    const controllers = [doing(() => new Date(0).toISOString())]
    const running = simulate({ controllers, faults: {} })
    expect(Date.now()).toBeGreaterThanOrEqual(before)
    expect((await running).violations).toEqual([])
    expect(new Date().getTime()).toBeGreaterThanOrEqual(before)
    expect(new Date()).toBeInstanceOf(Date)
    await sleep(0)
  })
})
