import type { Figures } from '../figures.ts'
import { writeTable } from '../written-table.ts'

const COMMAND = 'npm run bench:rollout -- --readme'

/** Writes the tables of the documents. @throws Error when a figure was not measured, for example because of `--only` */
export async function writeDocuments(figures: Figures): Promise<void> {
  await writeTable('README.md', COMMAND, comparison(figures))
  await writeTable('docs/how-to/roll-out-without-a-gap.md', COMMAND, rollouts(figures))
}

/** A rollout of three, beside the peers. */
function comparison(figures: Figures): readonly (readonly string[])[] {
  const row = (title: string, key: string, show: (value: number) => string) => [
    title,
    ...['rollout3', 'peers.client_go', 'peers.controller_runtime'].map((id) => show(figure(figures, `${id}.${key}`))),
  ]
  const load = ['load_before', 'load_after'].map((id) => figure(figures, id).toFixed(1)).join(' and ')
  return [
    ['a rollout of three replicas', 'Tenure', 'client-go', 'controller-runtime'],
    row('time without a leader, p50', 'leaderless_p50_ms', duration),
    row('time without a leader, p99', 'leaderless_p99_ms', duration),
    row('the same if Pods start at once, p50', 'start_at_once.leaderless_p50_ms', duration),
    row('changes of the leader, mean', 'changes_mean', (value) => value.toFixed(2)),
    row('changes of the leader, maximum', 'changes_max', String),
    row('rollouts of each kind', 'rollouts', String),
    ['load average of the machine before and after', load, 'the same', 'the same'],
  ]
}

/** Every kind of rollout of Tenure. */
function rollouts(figures: Figures): readonly (readonly string[])[] {
  const row = (title: string, id: string) => [
    title,
    String(figure(figures, `${id}.changes_max`)),
    duration(figure(figures, `${id}.leaderless_p50_ms`)),
    duration(figure(figures, `${id}.leaderless_p99_ms`)),
    String(figure(figures, `${id}.rollouts`)),
  ]
  return [
    ['a whole rollout', 'changes of the leader, at most', 'time without a leader, p50', 'p99', 'rollouts'],
    row('of a Deployment of 3', 'rollout3'),
    row('the same, Pods start at once', 'rollout3.start_at_once'),
    row('the same, 65 s after the rollout before', 'rollout3.after_65s'),
    row('of a Deployment of 10', 'rollout10'),
    row('of a StatefulSet of 3', 'rollout3.ordered'),
    row('of a Deployment of 3, writes take 100 ms', 'slow_api'),
    row('client-go, of a Deployment of 3', 'peers.client_go'),
    row('controller-runtime, of a Deployment of 3', 'peers.controller_runtime'),
  ]
}

function figure(figures: Figures, id: string): number {
  const value = figures[id]
  if (value === undefined) throw new Error(`Expected \`${id}\` to be measured for the documents`)
  return value
}

function duration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}
