import type { Census, Counts } from './census.ts'
import { type Growth, growthOf, median, type Point, typicalGrowthOf } from './growth.ts'

/** What a soak came to. */
export interface Verdict {
  /** What has been left behind, a line each. */
  readonly findings: readonly string[]
  readonly heap: Growth
  /** How many objects of a class come to stay with each term. */
  readonly objectsPerTerm: Counts
  readonly rssGrowthBytes: number
  readonly deltas: Counts
}

/** Growth over a whole run that counts as none, in bytes: a short one has too few terms to tell 32 bytes from nothing. */
const HEAP_ALLOWANCE = 128_000
const HEAP_BYTES_PER_TERM = 32

/** One object more in every tenth term is a leak: somebody has a collection that grows. */
const OBJECTS_PER_TERM = 0.1

/** What an allocator keeps for later comes and goes by megabytes. */
const RSS_ALLOWANCE = 16 * 2 ** 20

/** How many samples at either end stand for the start and for the end. */
const AT_ENDS = 5

/** Judges the censuses of a run, the first of which is that of the start. */
export function judge(censuses: readonly Census[], terms: number): Verdict {
  const settled = censuses.filter(({ term }) => term > terms / 5)
  const heap = growthOf(settled.map(({ term, heapBytes }): Point => [term, heapBytes]))
  const names = Object.keys(censuses[0]?.objects ?? {})
  const objectsPerTerm = Object.fromEntries(names.map((name) => [name, typicalGrowthOf(objectsOf(settled, name))]))
  const rssGrowthBytes = medianRss(settled.slice(-AT_ENDS)) - medianRss(settled.slice(0, AT_ENDS))
  const deltas = deltasOf(censuses)
  const limit = Math.max(HEAP_BYTES_PER_TERM, HEAP_ALLOWANCE / terms)
  const findings = [
    ...(heap.upperBound95 > limit ? [`heap: ${describe(heap)}, more than ${limit} (95 %)`] : []),
    ...Object.entries(objectsPerTerm).flatMap(([name, growth]) =>
      growth > OBJECTS_PER_TERM
        ? [
            `${name}: ${growth.toFixed(2)} more a term (${objectsOf(settled, name)
              .map(([, count]) => count)
              .join(' ')})`,
          ]
        : [],
    ),
    ...(rssGrowthBytes > RSS_ALLOWANCE ? [`RSS: grown by ${(rssGrowthBytes / 2 ** 20).toFixed(1)} MiB`] : []),
    ...Object.entries(deltas).flatMap(([name, delta]) =>
      delta > (FLUCTUATING.test(name) ? POOL_ALLOWANCE : 0)
        ? [`${name}: ${delta} more than at the start (${seriesOf(censuses, name)})`]
        : [],
    ),
  ]
  return { findings, heap, objectsPerTerm, rssGrowthBytes, deltas }
}

/** How many objects of a class there were, where they were counted. */
export function objectsOf(censuses: readonly Census[], name: string): readonly Point[] {
  return censuses.flatMap(({ term, objects }) => (objects === undefined ? [] : [[term, objects[name] ?? 0] as const]))
}

/** Connections and their timers come and go; what must not is compared with the very start. */
const FLUCTUATING = /^(?:handle\.|descriptors$)/

/** A pool opens a connection more whenever more requests than ever overlap, and keeps it. A leak leaves one in every term. */
const POOL_ALLOWANCE = 2

/** By how much the least of the last samples is above the most of the first, or of the first half where they fluctuate. */
function deltasOf(censuses: readonly Census[]): Counts {
  const names = new Set(censuses.flatMap(({ counts }) => Object.keys(counts)))
  return Object.fromEntries([...names].map((name) => [name, deltaOf(censuses, name)]))
}

function deltaOf(censuses: readonly Census[], name: string): number {
  const counts = censuses.map((census) => census.counts[name] ?? 0)
  const first = counts.slice(0, FLUCTUATING.test(name) ? Math.ceil(counts.length / 2) : AT_ENDS)
  return Math.min(...counts.slice(-AT_ENDS)) - Math.max(...first)
}

/** Some of the counts, in the order of the terms, for people. */
function seriesOf(censuses: readonly Census[], name: string): string {
  const step = Math.ceil(censuses.length / 20)
  const some = censuses.filter((_census, index) => index % step === 0 || index === censuses.length - 1)
  return some.map(({ counts }) => counts[name] ?? 0).join(' ')
}

function medianRss(censuses: readonly Census[]): number {
  return median(censuses.map(({ rssBytes }) => rssBytes))
}

function describe({ perTerm, upperBound95 }: Growth): string {
  return `${perTerm.toFixed(2)} bytes a term, at most ${upperBound95.toFixed(2)}`
}
