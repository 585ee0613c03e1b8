/** The labels of one sample. */
export type Labels = Readonly<Record<string, string | number>>

/** One sample of a metric. */
export interface Sample {
  /** The name of the sample if it differs from the family, as in the buckets of a histogram. */
  readonly metricName?: string
  readonly labels: Labels
  readonly value: number
}

/** A metric with all its samples, as prom-client returns it. */
export interface MetricFamily {
  readonly name: string
  readonly help: string
  readonly type: string
  /** How samples with the same labels are combined. */
  readonly aggregator: string
  readonly values: readonly Sample[]
}

/** The result of merging families of one name. */
export interface MergedFamily {
  readonly family: MetricFamily
  /** The families that could not be merged. The page leaves them out. */
  readonly refused: readonly RefusedFamily[]
}

/** Why a family was left out. */
export interface RefusedFamily {
  readonly name: string
  readonly reason: 'type-conflict' | 'bucket-conflict' | 'duplicate-summary'
}

/**
 * Merges families that have the same name. The first one sets type and help. The aggregator of the metric combines samples with the
 * same labels, by default their sum, as prom-client does for the workers of a cluster.
 *
 * Families that cannot be combined are left out: another type, other buckets, or quantiles of the same labels.
 */
export function mergeFamilies(first: MetricFamily, others: readonly MetricFamily[]): MergedFamily {
  const refused: RefusedFamily[] = []
  const groups = groupOf(first)
  for (const other of others) {
    const reason = refusalOf(first, other, groups)
    if (reason !== undefined) refused.push({ name: first.name, reason })
    else addSamples(groups, other.values)
  }
  const values = [...groups.values()].map((samples) => combine(samples, first.aggregator))
  return { family: { ...first, values }, refused }
}

type SampleGroups = Map<string, [Sample, ...Sample[]]>

function groupOf({ values }: MetricFamily): SampleGroups {
  const groups: SampleGroups = new Map()
  addSamples(groups, values)
  return groups
}

function addSamples(groups: SampleGroups, samples: readonly Sample[]): void {
  for (const sample of samples) {
    const key = keyOf(sample)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [sample])
    else group.push(sample)
  }
}

function refusalOf(
  first: MetricFamily,
  other: MetricFamily,
  groups: SampleGroups,
): RefusedFamily['reason'] | undefined {
  if (other.type !== first.type) return 'type-conflict'
  const isShared = other.values.some((sample) => groups.has(keyOf(sample)))
  if (first.type === 'summary' && isShared) return 'duplicate-summary'
  if (first.type === 'histogram' && isShared && bucketsOf(first) !== bucketsOf(other)) return 'bucket-conflict'
  return undefined
}

function bucketsOf({ values }: MetricFamily): string {
  const bounds = new Set(values.map(({ labels }) => String(labels['le'])))
  return [...bounds].sort().join(' ')
}

function keyOf({ metricName, labels }: Sample): string {
  const entries = Object.entries(labels).map(([name, value]) => JSON.stringify([name, String(value)]))
  return JSON.stringify([metricName, ...entries.sort()])
}

function combine(samples: readonly [Sample, ...Sample[]], aggregator: string): Sample {
  const values = samples.map(({ value }) => value)
  return { ...samples[0], value: aggregate(values, aggregator) }
}

function aggregate(values: readonly number[], aggregator: string): number {
  const sum = values.reduce((total, value) => total + value, 0)
  switch (aggregator) {
    case 'min':
      return Math.min(...values)
    case 'max':
      return Math.max(...values)
    case 'average':
      return sum / values.length
    case 'first':
    case 'omit':
      return values[0] ?? 0
    default:
      return sum
  }
}
