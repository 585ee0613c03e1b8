import { expect, test } from 'vitest'
import { GroupCounters } from '../src/membership/group-counters.ts'
import { LabelledCounter } from '../src/membership/metrics-view.ts'

test('the metrics of a group count members by state, changes by kind, and writes by outcome', async () => {
  const member = { identity: 'a', lease: 'l', address: undefined, version: undefined, zone: undefined }
  const more = { labels: {}, renewedAt: 0, notes: {} }
  const states = ['living', 'suspect', 'living', 'gone'] as const
  const counters = new GroupCounters('shop', () => states.map((state) => ({ ...member, ...more, state })))
  counters.changes.inc('left')
  counters.changes.inc('joined')
  counters.changes.inc('joined')
  counters.writes.inc('failed')
  const group = 'shop'
  const descriptions = [
    {
      name: 'tenure_members',
      help: 'Members of a group as this replica sees them, by state.',
      type: 'gauge',
      labelNames: ['group', 'state'],
    },
    {
      name: 'tenure_member_changes_total',
      help: 'Changes of members of a group as this replica saw them, by kind.',
      type: 'counter',
      labelNames: ['group', 'kind'],
    },
    {
      name: 'tenure_member_writes_total',
      help: 'Writes of the identity Lease of this replica, by outcome.',
      type: 'counter',
      labelNames: ['group', 'outcome'],
    },
  ]
  const values = [
    [
      { labels: { group, state: 'living' }, value: 2 },
      { labels: { group, state: 'suspect' }, value: 1 },
    ],
    [
      { labels: { group, kind: 'joined' }, value: 2 },
      { labels: { group, kind: 'changed' }, value: 0 },
      { labels: { group, kind: 'suspect' }, value: 0 },
      { labels: { group, kind: 'left' }, value: 1 },
      { labels: { group, kind: 'gone' }, value: 0 },
    ],
    [
      { labels: { group, outcome: 'ok' }, value: 0 },
      { labels: { group, outcome: 'failed' }, value: 1 },
    ],
  ]
  expect(counters.view.getMetricsAsArray()).toEqual(descriptions)
  expect(await counters.view.getMetricsAsJSON()).toEqual(
    descriptions.map(({ name, help, type }, index) => ({ name, help, type, aggregator: 'sum', values: values[index] })),
  )
  expect(new LabelledCounter().values('kind', ['x'], { group })).toEqual([{ labels: { group, kind: 'x' }, value: 0 }])
})
