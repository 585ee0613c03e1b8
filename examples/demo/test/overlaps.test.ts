import { expect, test } from 'vitest'
import { type Evidence, findOverlaps } from '../observer/overlaps.ts'
import type { Run } from '../record/chronicle.ts'
import { held, released } from './lease-versions.ts'

const a = { name: 'replica-a', pid: 1 }
const b = { name: 'replica-b', pid: 2 }

const runOfA: Run = { replica: a, epoch: 10n, beganAt: 100, overAt: 200 }
const runOfB: Run = { replica: b, epoch: 23n, beganAt: 201, overAt: undefined }

/** Two terms, one after the other. */
const clean: Evidence = {
  leases: [held(10, 'a', 't1'), held(14, 'a', 't1'), released(20), held(23, 'b', 't2'), held(30, 'b', 't2')],
  reports: [
    { version: 12n, epoch: 10n },
    { version: 19n, epoch: 10n },
    { version: 24n, epoch: 23n },
  ],
  runs: [runOfA, runOfB],
}

test('Terms that follow each other are no overlap', () => {
  expect(findOverlaps(clean)).toEqual([])
})

test('A write of a term that was over by then is an overlap', () => {
  const late = { version: 25n, epoch: 10n }
  expect(findOverlaps({ ...clean, reports: [...clean.reports, late] })).toEqual([
    'version 25 was written by the term with epoch 10, in force was 23',
  ])
})

test('A write after the release is an overlap even before anybody else leads', () => {
  const late = { version: 21n, epoch: 10n }
  expect(findOverlaps({ ...clean, reports: [...clean.reports, late] })).toEqual([
    'version 21 was written by the term with epoch 10, in force was none',
  ])
})

test('A write before the lease was acquired is an overlap', () => {
  const early = { version: 22n, epoch: 23n }
  expect(findOverlaps({ ...clean, reports: [early] })).toHaveLength(1)
})

test('Two controllers that run at the same time are an overlap, with its duration', () => {
  const runs = [{ ...runOfA, overAt: 203.5 }, runOfB]
  expect(findOverlaps({ ...clean, runs })).toEqual([
    'the controller of replica-a (PID 1, epoch 10) and the controller of replica-b (PID 2, epoch 23) ran at the same time ' +
      'for 2.5 ms',
  ])
})

test('A run that never ended overlaps with every later one', () => {
  expect(findOverlaps({ ...clean, runs: [{ ...runOfA, overAt: undefined }, runOfB] })).toHaveLength(1)
})

test('Two runs of one process count like those of two', () => {
  const again = { ...runOfB, replica: a, beganAt: 150 }
  expect(findOverlaps({ ...clean, runs: [runOfA, again] })).toHaveLength(1)
})

test('A run for a term that the lease never had is an overlap', () => {
  const unfounded = { ...runOfB, epoch: 22n }
  expect(findOverlaps({ ...clean, runs: [runOfA, unfounded] })).toEqual([
    'the controller of replica-b (PID 2, epoch 22) ran for a term that the lease never had',
  ])
})
