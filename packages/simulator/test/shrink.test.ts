import { OptionsError } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { describeReport, simulate, simulateSeeds, type SimulationOptions } from '../src/index.ts'
import { countFaults, type FaultScript, formatScript, parseScript, type Storm } from '../src/fault-script.ts'
import { parseSeed } from '../src/seed.ts'
import { shrinkScript } from '../src/shrink.ts'
import { UnfencedLedger } from './ledger-controllers.ts'
import { CleaningUp, DESIRED, StaleDispatcher } from './reconcilers.ts'

const RACY: SimulationOptions = {
  controllers: [(world) => new UnfencedLedger(world)],
  durationMs: 250_000,
  oracles: ['O4'],
}
const STALE: SimulationOptions = {
  controllers: [(world) => new StaleDispatcher(world)],
  faults: { 'step-down': 60, 'watch-late': 60 },
}
const CLEANING: SimulationOptions = { controllers: [(world) => new CleaningUp(world)], desired: DESIRED }

function stormOf(from: number, count: number): Storm {
  const faults = Array.from({ length: count }, (_, index) => ({
    at: from + index + 0.25,
    kind: 'crash' as const,
    replica: index % 3,
    severity: 0.123,
  }))
  return { from, to: from + 1000, faults }
}

describe('A history is shrunk', () => {
  test('to the two faults that break the rule together, rounded', async () => {
    const failing: FaultScript = [stormOf(0, 40), stormOf(5000, 40), stormOf(10_000, 40)]
    const needed = [5007, 5031]
    const least = await shrinkScript(failing, async (script) => {
      const times = script.flatMap(({ faults }) => faults.map(({ at }) => Math.round(at)))
      return needed.every((at) => times.includes(at))
    })
    const left = needed.map((at) => ({ at, kind: 'crash', replica: (at - 5000) % 3, severity: 0.12 }))
    expect(least).toEqual([{ from: 5000, to: 6000, faults: left }])
  })

  test('to nothing if no fault is needed', async () => {
    expect(await shrinkScript([stormOf(0, 40)], () => Promise.resolve(true))).toEqual([])
  })

  test('not at all if every fault is needed, and the search ends', async () => {
    const failing = [stormOf(0, 400)]
    let runs = 0
    const least = await shrinkScript(failing, async () => {
      runs += 1
      return false
    })
    expect(least).toBe(failing)
    expect(runs).toBeLessThanOrEqual(300)
  })

  // Whether a race happens depends on every latency of the run, and a fault that is left out changes those that follow.
  test.each([
    ['a race, as far as it still happens', RACY, 'O4', undefined],
    ['a state that is undone', CLEANING, 'O14', 2],
    ['a stale cache', STALE, 'O15', 1],
  ])('that a seed of the simulator found: %s', async (_name, options, oracle, maxFaults) => {
    const { failures } = await simulateSeeds({ ...options, seeds: 200, shrink: true })
    const [least] = failures
    if (least === undefined) throw new Error('Expected a failure')
    expect(least.violations.map((violation) => violation.oracle)).toEqual([oracle])
    expect(least.original).toMatch(/^s\d+-\d+$/)
    expect(least.seed.startsWith(`${least.original}+`)).toBe(true)
    const { faults } = await simulate({ ...options, seed: least.original })
    const count = countFaults(parseSeed(least.seed).script ?? [])
    expect(count).toBeLessThanOrEqual(maxFaults ?? countFaults(faults))
    expect(describeReport(least)).toContain(`Shrunk from seed ${least.original}`)
    const replay = await simulate({ ...options, seed: least.seed })
    expect(replay.traceHash).toBe(least.traceHash)
    expect(replay.violations).toEqual(least.violations)
  })
})

test('the script of a run repeats it', async () => {
  const { failures } = await simulateSeeds({ ...RACY, seeds: 200 })
  const [failure] = failures
  if (failure === undefined) throw new Error('Expected a failure')
  const again = await simulate({ ...RACY, seed: `${failure.seed}${formatScript(failure.faults)}` })
  expect(again.traceHash).toBe(failure.traceHash)
})

describe('The faults of a seed', () => {
  test('are read as they are written', () => {
    const script = [stormOf(0, 2), { from: 5000, to: 6000.5, faults: [] }]
    expect(parseScript(formatScript(script))).toEqual(script)
    expect(formatScript(script)).toBe('+0:1000,0.25:crash:0:0.123,1.25:crash:1:0.123+5000:6000.5')
    expect(parseSeed(`s4-42${formatScript([])}`)).toEqual({ number: 42, script: [] })
  })

  test('decide what happens: none, no fault', async () => {
    const { coverage, terms } = await simulate({ ...CLEANING, oracles: ['O1'], seed: 's4-7+' })
    expect([coverage.size, terms]).toEqual([0, 1])
    const crashed = await simulate({
      ...CLEANING,
      oracles: ['O1'],
      seed: 's4-7+60000:90000,61000:fleet-eviction:0:0.5',
    })
    expect([...crashed.coverage.keys()]).toEqual(['fleet-eviction'])
    expect(crashed.terms).toBeGreaterThan(1)
  })

  test.each([
    ['+x', 'x'],
    ['+0:10:3', '0:10:3'],
    ['+10:0', '10:0'],
    ['+0:10,5:crashes:0:0', '5:crashes:0:0'],
    ['+0:10,5:crash:0:2', '5:crash:0:2'],
    ['+0:10,5:crash:0', '5:crash:0'],
    ['+0:10,11:crash:0:0', '11:crash:0:0'],
    ['+0:10+5:20', '5:20'],
  ])('are refused: %s', async (script, part) => {
    const error: unknown = await simulate({ ...RACY, seed: `s4-1${script}` }).catch((cause: unknown) => cause)
    expect(error).toBeInstanceOf(OptionsError)
    expect(String(error)).toContain(
      `Expected each period after the \`+\` of \`seed\` to look like \`0:60000,12000:crash:1:0.5\`, with its faults in it, after those before, got \`${part}\``,
    )
  })
})
