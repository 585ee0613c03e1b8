import type { Candidacy } from '@tenure/core'
import { describeTasks } from '@tenure/core/internal'
import { onOneLine } from './on-one-line.ts'

/** The part of a candidacy that an explanation reads. */
export type ExplainedCandidacy = Pick<Candidacy, 'lease' | 'state' | 'explain' | 'liveTasks'>

/** A leader with more tasks is explained with the oldest ones: these hold up its drain. */
const MOST_TASKS = 20

/**
 * What `/explain` serves: lines of the form `LEASE: SENTENCE`. The first one of each lease says why this replica leads or does not lead, and
 * names the tasks that hold up a drain. Those of a leader that does not drain follow, the oldest first.
 */
export function explanationOf(candidacies: readonly ExplainedCandidacy[]): string {
  return candidacies
    .flatMap((candidacy) => [candidacy.explain(), ...tasksOf(candidacy)].map((text) => lineOf(candidacy.lease, text)))
    .join('')
}

function tasksOf(candidacy: ExplainedCandidacy): readonly string[] {
  if (candidacy.state.kind !== 'leading') return []
  const tasks = candidacy.liveTasks()
  const more = tasks.length - MOST_TASKS
  return [
    ...tasks.slice(0, MOST_TASKS).map((task) => `It runs the task ${describeTasks([task])}.`),
    ...(more > 0 ? [`It runs ${more} more tasks.`] : []),
  ]
}

function lineOf(lease: string, text: string): string {
  return `${lease}: ${onOneLine(text)}\n`
}
