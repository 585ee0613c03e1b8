import { describe, expect, test } from 'vitest'
import type { Lines } from '../../../test/traces/corruption.ts'
import { FLEET_KINDS } from '../../../test/traces/fleet-kinds.ts'
import { traceFleet } from '../../../test/traces/fleet-trace.ts'
import { modelStepsOf } from '../../../test/traces/tlc/model-steps.ts'
import { traceModule } from '../../../test/traces/tlc/trace-module.ts'
import { unfitFor } from '../../../test/traces/tlc/unfit.ts'

const header = (elector: number, missingLease: 'create' | 'wait' = 'create'): Lines[number] => ({
  elector,
  format: 1,
  machine: 'm',
  lock: 'l',
  identity: `replica-${elector}`,
  leaseMs: 15_000,
  tolerance: 0.05,
  requestMs: 2500,
  acquireDelayMs: 0,
  wholeSeconds: true,
  missingLease,
  heldForLife: false,
  onWedged: 'exit',
})

const first = { h: 'replica-1', d: 15, a: 'T1', r: 'T1', n: 0 }
const renewed = { ...first, r: 'T2' }

/** A leader whose second write remains without an answer until another replica has seen it. The clock of that one is half as fast. */
const HANDED: Lines = [
  header(1),
  { p: 1, n: 1, m: 0, t: 100, e: 'start', s: 'following' },
  { p: 1, n: 2, m: 10, t: 110, e: 'observed', s: 'acquiring', v: 0, d: [{ u: 'acquire', q: 1, r: first }] },
  header(2),
  { p: 2, n: 1, m: 12, t: 50, e: 'start', s: 'following' },
  {
    p: 1,
    n: 3,
    m: 20,
    t: 120,
    e: 'write-answer',
    s: 'leading',
    q: 1,
    v: 4,
    r: first,
    d: [{ u: 'begin', k: 4, until: 14_360 }],
  },
  { p: 1, n: 4, m: 30, t: 130, e: 'wake', s: 'leading', d: [{ u: 'renew', q: 2, b: 4, r: renewed }] },
  { p: 2, n: 2, m: 32, t: 60, e: 'observed', s: 'following', v: 6, r: renewed },
  { p: 1, n: 5, m: 40, t: 140, e: 'write-answer', s: 'leading', q: 2, v: 6, r: renewed },
]

/** The steps of a kind. */
function stepsOfKind(lines: Lines, ...kinds: readonly string[]) {
  return modelStepsOf(lines).steps.filter(([kind]) => kinds.includes(String(kind)))
}

describe('The steps of a trace for the model', () => {
  test('number the versions in their order, after the missing lease, and store each one before it is seen', () => {
    expect(stepsOfKind(HANDED, 'send', 'effect', 'see')).toEqual([
      ['see', 1, 1, 0],
      ['send', 1, 'acquire', 1, 1, 1],
      ['effect', 1, 1, 1],
      ['see', 1, 2, 1],
      ['send', 1, 'renew', 2, 2, 2],
      ['effect', 1, 2, 2],
      ['see', 2, 3, 2],
      ['see', 1, 3, 2],
    ])
  })

  test('give each elector the ticks of its own clock, also between its lines', () => {
    expect(stepsOfKind(HANDED, 'pass')).toEqual([
      ['pass', [0, 0]],
      ['pass', [100, 0]],
      ['pass', [20, 0]],
      ['pass', [80, 40]],
      ['pass', [100, 50]],
      ['pass', [20, 10]],
      ['pass', [80, 80]],
    ])
  })

  test('count the time of a term from the clock of its line', () => {
    expect(stepsOfKind(HANDED, 'begin')).toEqual([['begin', 1, 2, 142_400]])
  })

  test('leave a version that no elector has written to another client, which may edit the duration', () => {
    const edited = { ...HANDED.at(-2), n: 3, m: 50, t: 70, v: 7 } as Lines[number]
    const shortened = { ...edited, n: 4, v: 8, r: { ...renewed, d: 10 } } as Lines[number]
    const lines = [...HANDED, edited, shortened]
    expect(unfitFor(lines)).toBeUndefined()
    expect(stepsOfKind(lines, 'edit')).toEqual([
      ['edit', 0, 2],
      ['edit', 0, 3],
    ])
  })

  test('empty the lease before a release that no term precedes, for the model leads already', () => {
    const reserving: Lines = HANDED.map((line) =>
      'd' in line && line.q === 1 ? { ...line, s: 'reserving', d: [] } : line,
    )
    const released = { ...renewed, h: '', d: 1 }
    const lines: Lines = [
      ...reserving.slice(0, 6),
      { p: 1, n: 4, m: 30, t: 130, e: 'stop', s: 'releasing', d: [{ u: 'release', q: 2, b: 4, r: released }] },
    ]
    expect(stepsOfKind(lines, 'empty', 'send').slice(1)).toEqual([
      ['empty', 1],
      ['send', 1, 'release', 2, 2, 2],
    ])
  })

  test('do not take version 0 with a record for a version', () => {
    const forged = HANDED.map((line) => ('q' in line && line.q === 1 && 'v' in line ? { ...line, v: 0 } : line))
    expect(stepsOfKind(forged, 'succeed')[0]).toEqual(['succeed', 1, 1, 0, 1])
  })

  test('say of an elector without a header that there is none', () => {
    expect(stepsOfKind(HANDED.slice(0, -6), 'no elector')).toEqual([])
    expect(stepsOfKind(HANDED.toSpliced(3, 1), 'no elector')).toEqual([
      ['no elector', 2],
      ['no elector', 2],
    ])
  })

  test('refer to known versions and electors only in traces that the model can judge', () => {
    const fit = Object.values(FLEET_KINDS)
      .map((kind) => traceFleet({ seed: 9, replicas: 3, ...kind }, 60_000, 30_000).lines)
      .map((lines) => lines.map((line) => JSON.parse(line) as Lines[number]))
      .filter((lines) => unfitFor(lines) === undefined)
    expect(fit.length).toBeGreaterThan(0)
    for (const lines of fit) {
      expect(stepsOfKind(lines, 'no elector')).toEqual([])
      expect(stepsOfKind(lines, 'see', 'succeed').filter((step) => step[step.length - 2] === 0)).toEqual([])
    }
  })

  test('are a module of TLA+', () => {
    const text = traceModule([modelStepsOf(HANDED)])
    expect(text).toContain('MODULE TraceData')
    expect(text).toContain('<<"send", 1, "renew", 2, 2, 2>>')
    expect(text).toContain('[holder |-> 1, dur |-> 150000, acq |-> 1, ren |-> 2, trans |-> 0, offer |-> FALSE')
    expect(text).toContain('Traces == <<T1>>')
  })
})

describe('A trace is not for the model', () => {
  test.each([
    ['a lease for life', { heldForLife: true }],
    ['other durations', { leaseMs: 10_000 }],
    ['an identity that is used again', { identity: 'replica-2' }],
  ])('because of %s', (reason, settings) => {
    expect(unfitFor(HANDED)).toBeUndefined()
    expect(unfitFor(HANDED.with(0, { ...header(1), ...settings }))).toBe(reason)
  })

  test('because its lease is deleted, or another client edits it', () => {
    const last = { p: 2, n: 3, m: 50, t: 70, e: 'observed', s: 'following' } as const
    expect(unfitFor([...HANDED, { ...last, v: 7 }])).toBe('a lease that is deleted')
    expect(unfitFor([...HANDED, { ...last, v: 7, r: { ...renewed, n: 7 } }])).toBe('a lease that another client edits')
  })
})
