import { expect, test } from 'vitest'
import { mergeFamilies, type MetricFamily, type Sample } from '../src/metrics/metric-family.ts'

const family = (type: string, values: readonly Sample[], aggregator = 'sum'): MetricFamily => ({
  name: 'queue',
  help: 'Queue.',
  type,
  aggregator,
  values,
})

const sample = (value: number, labels: Sample['labels'] = {}, metricName?: string): Sample => ({
  value,
  labels,
  ...(metricName !== undefined && { metricName }),
})

test('samples with different labels stand side by side', () => {
  const merged = mergeFamilies(family('counter', [sample(1, { kind: 'a' })]), [
    family('counter', [sample(2, { kind: 'b' })]),
  ])
  expect(merged.family.values).toEqual([sample(1, { kind: 'a' }), sample(2, { kind: 'b' })])
  expect(merged.refused).toEqual([])
})

test('labels that only look alike when they are written one after the other are different labels', () => {
  const merged = mergeFamilies(family('counter', [sample(1, { a: '1,b:2' })]), [
    family('counter', [sample(2, { a: '1', b: '2' })]),
  ])
  expect(merged.family.values).toHaveLength(2)
})

test.each([
  ['sum', 9],
  ['min', 1],
  ['max', 6],
  ['average', 3],
  ['first', 2],
  ['omit', 2],
])('samples with the same labels become one by the aggregator %s', (aggregator, expected) => {
  const [first, ...others] = [2, 1, 6].map((value) =>
    family('gauge', [sample(value, value === 2 ? { b: 1, a: 2 } : { a: 2, b: 1 })], aggregator),
  )
  const merged = mergeFamilies(first ?? family('gauge', []), others)
  expect(merged.family.values).toEqual([sample(expected, { b: 1, a: 2 })])
})

test('a family of another type is refused, and takes nothing with it', () => {
  const merged = mergeFamilies(family('counter', [sample(1)]), [
    family('gauge', [sample(7)]),
    family('counter', [sample(2)]),
  ])
  expect(merged.family.values).toEqual([sample(3)])
  expect(merged.refused).toEqual([{ name: 'queue', reason: 'type-conflict' }])
})

const histogram = (counts: Readonly<Record<string, number>>, labels: Sample['labels'] = {}): MetricFamily =>
  family(
    'histogram',
    Object.entries(counts).map(([le, count]) => sample(count, { ...labels, le }, 'queue_bucket')),
  )

test('histograms with the same buckets are added up', () => {
  const merged = mergeFamilies(histogram({ 1: 2, '+Inf': 3 }), [histogram({ 1: 1, '+Inf': 4 })])
  expect(merged.family.values.map(({ value }) => value)).toEqual([3, 7])
})

test('histograms with other buckets are refused, because adding them up would break what le means', () => {
  const merged = mergeFamilies(histogram({ 1: 2, '+Inf': 3 }), [histogram({ 2: 1, '+Inf': 4 })])
  expect(merged.family.values.map(({ value }) => value)).toEqual([2, 3])
  expect(merged.refused).toEqual([{ name: 'queue', reason: 'bucket-conflict' }])
})

test('a label `le` of a metric that is no histogram is a label like others', () => {
  const [first, other] = [['1'], ['1', '2']].map((bounds) =>
    family(
      'gauge',
      bounds.map((le) => sample(3, { le })),
    ),
  )
  const merged = mergeFamilies(first ?? family('gauge', []), other === undefined ? [] : [other])
  expect(merged.family.values).toEqual([sample(6, { le: '1' }), sample(3, { le: '2' })])
  expect(merged.refused).toEqual([])
})

test('histograms with other buckets stand side by side where their labels differ', () => {
  const merged = mergeFamilies(histogram({ 1: 2, '+Inf': 3 }, { kind: 'a' }), [
    histogram({ 2: 1, '+Inf': 4 }, { kind: 'b' }),
  ])
  expect(merged.family.values).toHaveLength(4)
  expect(merged.refused).toEqual([])
})

test('quantiles of the same labels are refused, because quantiles cannot be combined', () => {
  const summary = family('summary', [sample(1, { quantile: 0.5 })])
  const merged = mergeFamilies(summary, [summary])
  expect(merged.family.values).toEqual([sample(1, { quantile: 0.5 })])
  expect(merged.refused).toEqual([{ name: 'queue', reason: 'duplicate-summary' }])
})

test('quantiles of other labels stand side by side', () => {
  const summary = (kind: string) => family('summary', [sample(1, { kind, quantile: 0.5 })])
  const merged = mergeFamilies(summary('a'), [summary('b')])
  expect(merged.family.values).toEqual([
    sample(1, { kind: 'a', quantile: 0.5 }),
    sample(1, { kind: 'b', quantile: 0.5 }),
  ])
  expect(merged.refused).toEqual([])
})

test('histograms whose buckets are listed in another order are added up', () => {
  const merged = mergeFamilies(histogram({ a: 2, b: 3 }), [histogram({ b: 4, a: 1 })])
  expect(merged.family.values.map(({ value }) => value)).toEqual([3, 7])
  expect(merged.refused).toEqual([])
})

test('bounds that only look alike when they are written one after the other are other buckets', () => {
  const merged = mergeFamilies(histogram({ 1: 1, 23: 2 }), [histogram({ 1: 1, 2: 1, 3: 2 })])
  expect(merged.refused).toEqual([{ name: 'queue', reason: 'bucket-conflict' }])
})

test('a sample of another name in the family is another sample', () => {
  const merged = mergeFamilies(family('histogram', [sample(1, {}, 'queue_sum')]), [
    family('histogram', [sample(2, {}, 'queue_count')]),
  ])
  expect(merged.family.values).toHaveLength(2)
})
