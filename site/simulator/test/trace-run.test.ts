import { describe, expect, test } from 'vitest'
import { FLEET_KINDS, type FleetKind } from '../../../test/traces/fleet-kinds.ts'
import { traceFleet } from '../../../test/traces/fleet-trace.ts'
import { tracedSimulation } from '../../../test/traces/simulated-trace.ts'
import { fleetOf } from '../../../test/simulation/fleets.ts'
import { describeReport } from '@tenure/simulator'
import { CleaningUp, DESIRED } from '../../../packages/simulator/test/reconcilers.ts'
import { TraceRun } from '../engine/trace-run.ts'
import { packTrace, unpackTrace } from '../engine/trace-text.ts'

const TRACE_MS = 60_000

function traceOf(kind: FleetKind | undefined, seed: number): string {
  if (kind === undefined) throw new Error('There is no such fleet')
  const { lines } = traceFleet({ seed, replicas: 3, ...kind }, TRACE_MS, 30_000)
  return lines.map((line) => `${line}\n`).join('')
}

const TRACE = traceOf(FLEET_KINDS['plain'], 1)

async function play(...files: readonly string[]): Promise<TraceRun> {
  const run = new TraceRun(files)
  await run.advance(10 * TRACE_MS)
  return run
}

describe('The trace of real electors', () => {
  test.each(Object.entries(FLEET_KINDS))(
    'of the fleet %s breaks no rule, and no two terms overlap',
    async (_, kind) => {
      let played = 0
      for (let seed = 0; seed < 5; seed += 1) {
        const { log, overlaps, terms } = await play(traceOf(kind, seed))
        expect(log.filter(({ isProblem }) => isProblem)).toEqual([])
        expect(overlaps).toEqual([])
        played += terms.length
      }
      // In some fleets, the first term may begin after the end of a trace.
      expect(played).toBeGreaterThan(0)
    },
  )

  test('of a fleet of the simulator breaks no rule, and no two terms overlap', async () => {
    const { lines } = await tracedSimulation({ ...fleetOf(3).options, seed: 3 })
    const { log, overlaps, terms } = await play(lines.map((line) => `${line}\n`).join(''))
    expect(log.filter(({ isProblem }) => isProblem)).toEqual([])
    expect(overlaps).toEqual([])
    expect(terms.length).toBeGreaterThan(1)
  })

  test('of a run of the simulator that breaks a rule ends with that rule, step by step, in a link that the failure prints', async () => {
    const { report } = await tracedSimulation({
      controllers: [(world) => new CleaningUp(world)],
      desired: DESIRED,
      seed: 's4-0+0:40000,20000:crash:0:0,20000:crash:1:0,20000:crash:2:0',
    })
    const [, packed = ''] = /Step by step: open \S+#trace=(\S+)$/.exec(describeReport(report)) ?? []
    const { log, terms } = await play(...(await unpackTrace(packed)))
    expect(log.filter(({ isProblem }) => isProblem).map(({ who }) => who)).toEqual(['O14'])
    expect(log.at(-1)?.what).toMatch(/^VIOLATED: .*the store is not in the desired state/)
    expect(log.filter(({ what }) => what === 'crash').map(({ at }) => at)).toEqual([20_000, 20_000, 20_000])
    expect(log.some(({ what }) => what === 'sends: put child-2')).toBe(true)
    expect(terms.length).toBe(2)
  })

  test('is the same step by step', async () => {
    const whole = await play(TRACE)
    const steps = new TraceRun([TRACE])
    for (let length = -1; steps.log.length > length;) {
      length = steps.log.length
      await steps.step()
    }
    expect(steps.log).toEqual(whole.log)
    expect(steps.terms).toEqual(whole.terms)
    expect(whole.log.length).toBeGreaterThan(10)
  })

  test('names the rule and the line that are broken, at the moment when that happens', async () => {
    const lines = TRACE.split('\n')
    const broken = lines.findIndex((line) => line.includes('"u":"begin"'))
    lines[broken] = lines[broken]?.replace(/"until":(\d+)/, (_, until) => `"until":${Number(until) + 60_000}`) ?? ''
    const { log } = await play(lines.join('\n'))
    const problem = log.find(({ isProblem }) => isProblem)
    expect(problem?.what).toMatch(new RegExp(`^Rule validity is broken in line ${broken + 1} of file 1: `))
    expect(log.filter(({ at }) => at < (problem?.at ?? 0)).length).toBeGreaterThan(0)
  })

  test('shows terms that overlap', async () => {
    const began = (p: number, at: number) => [
      JSON.stringify({ ...HEADER, elector: p, identity: `replica-${p}` }),
      JSON.stringify({
        p,
        n: 1,
        m: at,
        t: at,
        w: at,
        e: 'start',
        s: 'leading',
        d: [{ u: 'begin', k: p, until: at + 9000 }],
      }),
    ]
    const later = (p: number) => JSON.stringify({ p, n: 2, m: 20_000, t: 20_000, w: 20_000, e: 'wake', s: 'leading' })
    const run = await play(`${[...began(1, 1000), ...began(2, 4000), later(1), later(2)].join('\n')}\n`)
    expect(run.overlaps.map(({ from, to }) => [from, to])).toEqual([[3000, 9000]])
  })

  test('of two machines is in the order of their wall clocks', async () => {
    const trace = (identity: string, machineMs: number, wallTimes: readonly (number | undefined)[]) => {
      const header = { ...HEADER, elector: 1, identity, machine: identity }
      const steps = wallTimes.map((w, index) => {
        const [at, n] = [machineMs + index * 2000, index + 1]
        const acts = [{ u: 'stopped' }]
        return {
          p: 1,
          n,
          m: at,
          t: at,
          ...(w !== undefined && { w }),
          e: index === 0 ? 'start' : 'wake',
          s: 'following',
          d: acts,
        }
      })
      return [header, ...steps].map((line) => `${JSON.stringify(line)}\n`).join('')
    }
    const run = await play(trace('a', 900_000, [5000, undefined, 9100]), trace('b', 100, [6000, undefined]))
    const stops = run.log.filter(({ what }) => what === 'stopped')
    expect(stops.map(({ at, who }) => [who, at])).toEqual([
      ['a', 0],
      ['b', 1000],
      ['a', 2000],
      ['b', 3000],
      ['a', 4100],
    ])
  })

  test('opens again by its address', async () => {
    const packed = await packTrace([TRACE])
    expect(packed).toMatch(/^[\w-]+$/)
    expect(packed.length).toBeLessThan(TRACE.length / 4)
    expect(await unpackTrace(packed)).toEqual([TRACE])
    expect(await new TraceRun([TRACE]).address()).toBe(`trace=${packed}`)
  })

  test('leaves out a last line that was cut off', async () => {
    expect((await play(TRACE.slice(0, -10))).log.length).toBeGreaterThan(10)
  })

  test('is refused with the line that is no line of a trace', () => {
    expect(() => new TraceRun([TRACE, '{"at":1}\n'])).toThrow(
      'Expected line 1 of file 2 to be a line of a trace, got `{"at":1}`',
    )
  })

  test.each(['', 'AAAA', '!'])('is refused if its link is cut off: %j', async (text) => {
    await expect(unpackTrace(text)).rejects.toThrow('Expected `trace` to be the whole text of a link to a trace')
  })
})

const HEADER = {
  format: 1,
  machine: 'one',
  lock: 'lease ops/janitor',
  leaseMs: 15_000,
  tolerance: 0.05,
  requestMs: 2500,
  acquireDelayMs: 0,
  wholeSeconds: true,
  missingLease: 'create',
  heldForLife: false,
  onWedged: 'exit',
}
