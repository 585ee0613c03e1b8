import { channel } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { traceChannel, type TracedElector } from '../../src/election/trace/trace-channel.ts'
import type { TraceHeader, TraceLine } from '../../src/election/trace/trace-line.ts'
import { TraceWriter } from '../../src/election/trace/trace-writer.ts'
import { CONFIG } from './pure-elector.ts'

/** A writer, a function that has an elector take a step, and the lines. */
function traced() {
  const lines: Partial<TraceLine & TraceHeader>[] = []
  const now = { elector: 0, machine: 0, wall: 0 }
  const write = (text: string): void =>
    void lines.push(
      ...text
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as (typeof lines)[number]),
    )
  const writer = new TraceWriter({ machine: 'test', machineTime: () => now.machine, write })
  const clock = { now: () => now.elector, wallTime: () => now.wall, setTimer: () => ({ cancel: () => {} }) }
  const elector = { lock: 'lease ops/janitor', clock }
  return {
    lines,
    now,
    take: (at: number) => writer.take({ ...STEP, elector, at: { now: at, wallTime: now.wall, random: 0 } }),
  }
}

const STEP = {
  config: CONFIG,
  event: { kind: 'wake' },
  effects: [],
  state: { kind: 'stopped', memory: {} as never },
} as const

test('a line says how long before the reading of the machine an elector decided at most, and nothing if no time has passed', () => {
  const { lines, now, take } = traced()
  take(0)
  Object.assign(now, { elector: 7.25, machine: 1007 })
  take(5)
  expect(lines.slice(1)).toMatchObject([
    { n: 1, m: 0, t: 0 },
    { n: 2, m: 1007, t: 5 },
  ])
  expect(lines[1]).not.toHaveProperty('j')
  expect(lines[2]?.j).toBeGreaterThanOrEqual(2.25)
  expect(lines[2]?.j).toBeLessThan(2.26)
})

test('the wall clock is written at first, and when it has left the clock of the elector', () => {
  const { lines, now, take } = traced()
  const walls = [1000, 2001, 3002, 4003, 4003].map((wall, second) => {
    now.wall = wall
    take(second * 1000)
    return lines.at(-1)?.w
  })
  expect(walls).toEqual([1000, undefined, undefined, 4003, 4003])
})

test('a step says whether the elector acts, after a header for each elector, which are numbered', () => {
  const written: (readonly [headers: readonly unknown[], isActing: boolean])[] = []
  const write = (text: string, isActing: boolean): void => {
    const lines = text.trimEnd().split('\n')
    const headers = lines.map((line) => JSON.parse(line) as Partial<TraceHeader>).filter((line) => 'elector' in line)
    written.push([headers.map(({ elector, missingLease, onWedged }) => [elector, missingLease, onWedged]), isActing])
  }
  const writer = new TraceWriter({ machine: 'test', machineTime: () => 0, write })
  const clock = { now: () => 0, wallTime: () => 0, setTimer: () => ({ cancel: () => {} }) }
  const first: TracedElector = { lock: 'lease a', clock }
  const second: TracedElector = { lock: 'lease b', clock }
  const third: TracedElector = { lock: 'lease c', clock }
  const at = { now: 0, wallTime: 0, random: 0 }
  const config = { ...CONFIG, missingLease: undefined }
  const acts = [{ kind: 'exit' }] as const
  writer.take({ ...STEP, elector: first, at, effects: acts })
  writer.take({ ...STEP, elector: first, at, effects: acts })
  writer.take({ ...STEP, elector: first, at })
  writer.take({ ...STEP, elector: second, at, config: { ...config, heldForLife: true } })
  writer.take({ ...STEP, elector: third, at, config: { ...config, onWedged: 'hold' } })
  expect(written).toEqual([
    [[[1, 'create', 'exit']], true],
    [[], true],
    [[], false],
    [[[2, 'wait', 'exit']], false],
    [[[3, 'create', 'hold']], false],
  ])
})

test('electors publish their steps on the channel whose name the documents give', () => {
  expect(traceChannel).toBe(channel('tenure:trace'))
})
