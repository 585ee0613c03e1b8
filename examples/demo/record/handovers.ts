import type { TermStory } from './chronicle.ts'

/** From one term to the next. */
export interface Handover {
  readonly from: TermStory
  readonly to: TermStory
  readonly ms: number
}

/**
 * The clean handovers among consecutive terms: those where the lease was released. Timed from the decision of the leader to the
 * moment at which the controller of the successor begins to run.
 */
export function cleanHandovers(terms: readonly TermStory[]): readonly Handover[] {
  return terms.slice(1).flatMap((to, index) => {
    const from = terms[index]
    const beganAt = to.runs[0]?.beganAt
    if (from?.ending === undefined || from.over?.outcome !== 'released' || beganAt === undefined) return []
    return [{ from, to, ms: beganAt - from.ending.at }]
  })
}

/** The middle one of the values; of two, the mean. Undefined when there are none. */
export function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[Math.floor(sorted.length / 2)]
  const lower = sorted[Math.ceil(sorted.length / 2) - 1]
  return upper === undefined || lower === undefined ? undefined : (upper + lower) / 2
}

/**
 * The successions among consecutive terms where the process of the leader ended and its lease had to expire. Timed from the end
 * of that process.
 */
export function takeovers(terms: readonly TermStory[]): readonly Handover[] {
  return terms.slice(1).flatMap((to, index) => {
    const from = terms[index]
    const goneAt = from?.runs.at(-1)?.overAt
    const beganAt = to.runs[0]?.beganAt
    if (from === undefined || from.over !== undefined || goneAt === undefined || beganAt === undefined) return []
    return [{ from, to, ms: beganAt - goneAt }]
  })
}
