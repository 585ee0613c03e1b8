import type { Figures } from '../figures.ts'

/** The most that each figure of a mode may be. */
const BOUNDS: Readonly<Record<string, number>> = {
  start_to_lead_p50_ms: 20,
  start_to_lead_p99_ms: 80,
  better_joins_to_lead_p50_ms: 40,
  better_joins_to_lead_p99_ms: 120,
  preempt_gap_p50_ms: 10,
  preempt_gap_p99_ms: 40,
  clean_leave_p50_ms: 40,
  clean_leave_p99_ms: 120,
  crash_proved_p50_ms: 300,
  flaps_per_minute: 0,
  writes_per_minute_idle: 1,
}

/** Prints every figure. Returns the ids of those that miss their bound; client-go has none. */
export function judge(figures: Figures): readonly string[] {
  const missed: string[] = []
  for (const [id, value] of Object.entries(figures)) {
    const [mode = '', name = ''] = id.split('.')
    const bound = mode === 'client_go' ? undefined : BOUNDS[name]
    const isMissed = bound !== undefined && !(value <= bound)
    if (isMissed) missed.push(id)
    const verdict = bound === undefined ? '' : `   at most ${bound}${isMissed ? '   MISSED' : ''}`
    console.log(`${id.padEnd(44)}${value.toFixed(2).padStart(10)}${verdict}`)
  }
  return missed
}
