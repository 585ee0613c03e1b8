import type { CandidacyEvent, Term } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { TermLeaks } from '../../src/leaks/term-leaks.ts'

type Run = Pick<Term, 'lease' | 'epoch' | 'controller' | 'taskCount'>

const run = (parts: Partial<Run> = {}): Run => ({
  lease: 'janitor',
  epoch: 1n,
  controller: 'sweeper',
  taskCount: 0,
  ...parts,
})

/** Looks for leaks among the runs and metrics that the test puts here. */
function watch() {
  const clock = new VirtualClock()
  const runs: Run[] = []
  const metricNames: string[] = []
  const lines: (readonly [object, string])[] = []
  const leaks = new TermLeaks({
    registry: new Registry(),
    logger: { ...silentLogger, warn: (fields: object, text: string) => void lines.push([fields, text]) },
    clock,
    terms: () => runs as Term[],
    metricNames: () => metricNames,
    healthCheckNames: () => [],
  })
  const observe = (kind: CandidacyEvent['kind'], epoch = 1n) =>
    leaks.observe({ kind, lease: 'janitor', epoch } as CandidacyEvent)
  const endTerm = async () => {
    observe('term-over')
    await clock.advance(1000)
  }
  return { clock, runs, metricNames, lines, leaks, observe, endTerm }
}

const leakOf = (name: string, epoch = 1n) => [
  { event: 'leak', kind: 'metric', lease: 'janitor', epoch, name, count: 1 },
  `left behind: 1 metric (${name})`,
]

describe('What is left behind', () => {
  test('is counted a second after the end of a term', async () => {
    const { clock, metricNames, lines, observe, endTerm } = watch()
    await endTerm()
    metricNames.push('a')
    observe('term-over')
    await clock.advance(999)
    expect(lines).toEqual([])
    await clock.advance(1)
    expect(lines).toEqual([leakOf('a')])
  })

  test('is counted at once when the next term begins, and not again', async () => {
    const { clock, metricNames, lines, observe, endTerm } = watch()
    await endTerm()
    metricNames.push('a')
    observe('term-over')
    observe('term-began', 2n)
    expect(lines).toEqual([leakOf('a')])
    metricNames.push('b')
    await clock.advance(1000)
    expect([lines.length, clock.pendingTimers]).toEqual([1, 0])
  })

  test('is counted once for terms that end together, as left by the last one', async () => {
    const { clock, metricNames, lines, observe, endTerm } = watch()
    await endTerm()
    metricNames.push('a')
    observe('term-over', 1n)
    await clock.advance(500)
    observe('term-over', 2n)
    await clock.advance(999)
    expect(lines).toEqual([])
    await clock.advance(1)
    expect(lines).toEqual([leakOf('a', 2n)])
  })

  test('is not counted while another term of the process lasts', async () => {
    const { runs, metricNames, lines, endTerm } = watch()
    await endTerm()
    metricNames.push('a')
    runs.push(run({ lease: 'other', epoch: 7n }))
    await endTerm()
    expect(lines).toEqual([])
    runs.length = 0
    await endTerm()
    expect(lines).toEqual([leakOf('a')])
  })

  test('is counted beside controllers that need no leadership', async () => {
    const { runs, metricNames, lines, endTerm } = watch()
    runs.push(run({ lease: 'always-on', epoch: 0n, taskCount: 1 }))
    await endTerm()
    metricNames.push('a')
    await endTerm()
    expect(lines).toEqual([leakOf('a')])
  })

  test('is not counted after the stop', async () => {
    const { clock, metricNames, lines, leaks, observe, endTerm } = watch()
    await endTerm()
    metricNames.push('a')
    observe('term-over')
    leaks.stop()
    expect(clock.pendingTimers).toBe(0)
    observe('term-began')
    expect(lines).toEqual([])
  })
})

test('The tasks of a term that has ended are reported at once, those of other terms are not', () => {
  const { runs, lines, leaks, observe } = watch()
  runs.push(
    run({ taskCount: 2 }),
    run({ controller: 'idle' }),
    run({ lease: 'other', taskCount: 1 }),
    run({ epoch: 2n, taskCount: 1 }),
  )
  observe('term-ending')
  expect(lines).toEqual([])
  observe('term-over')
  expect(lines).toEqual([
    [
      { event: 'leak', kind: 'task', lease: 'janitor', epoch: 1n, name: 'sweeper', count: 2 },
      'left behind: 2 task (sweeper)',
    ],
  ])
  leaks.stop()
})
