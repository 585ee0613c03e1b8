import { expect, test } from 'vitest'
import { type Findings, summarize } from '../record/summary.ts'

const sound: Findings = {
  terms: [],
  acts: { planned: 5, played: 5 },
  overlaps: [],
  leaks: [],
  leakFree: 3,
  observed: { leases: 50, reports: 40, deleted: 30 },
  problems: [],
}

test('The demo succeeds when every act was played and nothing was found', () => {
  expect(summarize(sound).failures).toEqual([])
})

test.each<[string, Partial<Findings>, string]>([
  ['an act was not played', { acts: { planned: 5, played: 4 } }, 'only 4 of 5 acts were played'],
  ['an overlap was seen', { overlaps: ['two at once'] }, 'overlap: two at once'],
  [
    'a leak was found',
    { leaks: [{ replica: { name: 'replica-a', pid: 1 }, epoch: 10n, excess: ['Timeout: 3, was 2'] }] },
    'leak: replica-a (PID 1) after the term with epoch 10: Timeout: 3, was 2',
  ],
  [
    'the observer has seen no write',
    { observed: { leases: 50, reports: 0, deleted: 0 } },
    'the observer has seen no write of the janitor',
  ],
  ['no term was measured', { leakFree: 0 }, 'no replica was measured as a follower after a term'],
  ['something else went wrong', { problems: ['a replica stopped with 1'] }, 'a replica stopped with 1'],
])('The demo fails when %s', (_what, finding, failure) => {
  expect(summarize({ ...sound, ...finding }).failures).toEqual([failure])
})

test('A figure that was not measured is left out', () => {
  expect(summarize(sound).figures).toEqual({ overlaps: 0, leaks: 0, handovers: 0, terms: 0 })
})
