import type { Figures } from '../figures.ts'

/** A figure and what it may be. */
interface Bound {
  readonly id: string
  readonly relation: 'at most' | 'above'
  /** A number, or another figure of the same run. */
  readonly limit: number | string
}

const atMost = (id: string, limit: Bound['limit']): Bound => ({ id, relation: 'at most', limit })

const BOUNDS: readonly Bound[] = [
  atMost('rollout3.changes_max', 1),
  atMost('rollout10.changes_max', 1),
  atMost('rollout3.leaderless_p50_ms', 15),
  atMost('rollout3.leaderless_p99_ms', 80),
  atMost('rollout3.start_at_once.leaderless_p50_ms', 15),
  atMost('rollout3.start_at_once.leaderless_p50_ms', 'peers.start_at_once.leaderless_p50_ms'),
  atMost('ghosts_named', 0),
  atMost('ghosts_killed_cost_ms', 10),
  atMost('slow_api.leaderless_p50_ratio', 1.5),
  atMost('fresh2s.handover_p50_ratio', 1.5),
  ...[2, 3, 5, 50].map((size) => atMost(`fresh2s.n${size}.handover_p50_ratio`, 1.5)),
  atMost('after_foreign_release_p50_ms', 15),
  atMost('fifty.acquire_writes_per_release_p99', 3),
  atMost('fifty.announcement_writes_per_start', 6),
  atMost('import_ms', 120),
  atMost('process_start_to_candidate_p50_ms', 350),
  atMost('rss_follower_mb', 75),
  atMost('stale_reads', 0),
  { id: 'stale_reads_without_barrier_percent', relation: 'above', limit: 1 },
  atMost('barrier_p50_ms', 'put_to_event_p50_ms'),
]

/** Prints every figure, those with bounds first. Returns the ids of those that miss a bound. */
export function judge(figures: Figures): readonly string[] {
  const missed: string[] = []
  for (const { id, relation, limit } of BOUNDS) {
    const value = figures[id]
    const bound = typeof limit === 'number' ? limit : figures[limit]
    if (value === undefined || bound === undefined) continue
    const isMet = relation === 'at most' ? value <= bound : value > bound
    if (!isMet) missed.push(id)
    const shown = typeof limit === 'number' ? `${limit}` : `${bound.toFixed(2)} (${limit})`
    console.log(`${line(id, value)}   ${relation} ${shown}${isMet ? '' : '   MISSED'}`)
  }
  const isBounded = (id: string) => BOUNDS.some((bound) => bound.id === id)
  for (const [id, value] of Object.entries(figures)) if (!isBounded(id)) console.log(line(id, value))
  return missed
}

function line(id: string, value: number): string {
  return `${id.padEnd(60)}${value.toFixed(2).padStart(10)}`
}
