import type { Census, Counts } from './census.ts'
import { type Growth, growthOf, type Point, typicalGrowthOf } from './growth.ts'

/** The result of a soak. */
export interface Verdict {
  /** The leaks, one line each. */
  readonly findings: readonly string[]
  readonly heap: Growth
  /** The tolerated growth of the heap, in bytes per term. */
  readonly heapLimit: number
  /** The growth per term of the number of objects of each class. */
  readonly objectsPerTerm: Counts
  readonly rssGrowthBytes: number
  readonly deltas: Counts
}

/** The tolerated growth over a whole run, in bytes. A short run has too few terms to measure 32 bytes per term. */
const HEAP_ALLOWANCE = 128_000
const HEAP_BYTES_PER_TERM = 32

/**
 * More than one more object in every tenth term is a leak in a growing collection. The counts vary. At a standard
 * deviation of 60 (simulated), a run of 500 terms finds one in every term in 9 of 10 runs, and a run of 5,000 one in every fifth term.
 */
const OBJECTS_PER_TERM = 0.1

/** The reserve of an allocator varies by megabytes from one sample to the next. So the growth of a line through all samples counts. */
const RSS_ALLOWANCE = 16 * 2 ** 20

/** The number of samples for the start and for the end. */
const AT_ENDS = 5

/** Judges the censuses of a run. The first one is from the start. */
export function judge(censuses: readonly Census[], terms: number): Verdict {
  const settled = censuses.filter(({ term }) => term > terms / 5)
  const heap = growthOf(settled.map(({ term, heapBytes }): Point => [term, heapBytes]))
  const names = Object.keys(censuses[0]?.objects ?? {})
  const objectsPerTerm = Object.fromEntries(names.map((name) => [name, typicalGrowthOf(objectsOf(settled, name))]))
  const rss = growthOf(settled.map(({ term, rssBytes }): Point => [term, rssBytes]))
  const rssGrowthBytes = rss.perTerm * (terms - terms / 5)
  const deltas = deltasOf(censuses)
  const heapLimit = Math.max(HEAP_BYTES_PER_TERM, HEAP_ALLOWANCE / terms)
  const findings = [
    ...(heap.upperBound95 > heapLimit ? [`heap: ${describe(heap)}, more than ${heapLimit} (95 %)`] : []),
    ...Object.entries(objectsPerTerm).flatMap(([name, growth]) =>
      growth > OBJECTS_PER_TERM && growthOf(objectsOf(settled, name)).lowerBound999 > 0
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
  return { findings, heap, heapLimit, objectsPerTerm, rssGrowthBytes, deltas }
}

/** Whether the heap alone is in doubt, because it scatters. The error falls faster with more terms than the limit. */
export function isUndecided({ findings, heap, heapLimit }: Verdict): boolean {
  return findings.length === 1 && heap.upperBound95 > heapLimit && heap.lowerBound999 <= heapLimit
}

/** How many objects of a class there were, where they were counted. */
export function objectsOf(censuses: readonly Census[], name: string): readonly Point[] {
  return censuses.flatMap(({ term, objects }) => (objects === undefined ? [] : [[term, objects[name] ?? 0] as const]))
}

/** Connections and their timers vary. All other counts are compared with the start. */
const FLUCTUATING = /^(?:handle\.|descriptors$)/

/** A pool opens and keeps one more connection when more requests overlap than ever before. A leak adds one in every term. */
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

/** Some of the counts, in the order of the terms, as text. */
function seriesOf(censuses: readonly Census[], name: string): string {
  const step = Math.ceil(censuses.length / 20)
  const some = censuses.filter((_census, index) => index % step === 0 || index === censuses.length - 1)
  return some.map(({ counts }) => counts[name] ?? 0).join(' ')
}

function describe({ perTerm, upperBound95 }: Growth): string {
  return `${perTerm.toFixed(2)} bytes a term, at most ${upperBound95.toFixed(2)}`
}
