import type { ProcessLife } from '../process-life.ts'
import type { Run } from '../run.ts'
import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** How long a leader leads before it compares itself with the standbys that it began with, and a while for candidates to join. */
const SETTLING_MS = 75_000

/** O11. Checked only in periods without faults and rollouts, among processes that agree about how good each is. */
export const bestLeads: Oracle = {
  id: 'O11',
  rule: 'Without faults and rollouts the best replica leads within a bounded time, and no leader makes way for a replica that is not better.',
  judge(run, violated) {
    const started = new Map<ProcessLife, number>()
    const boundMs = SETTLING_MS + 4 * run.timing.leaseDurationMs
    let calmSince: number | undefined
    let leader: TermLife | undefined
    const isSettled = () => calmSince !== undefined && run.now - calmSince > boundMs
    const judgeLeader = () => {
      const grade = leader?.process.grade
      if (!isSettled() || leader?.isOver !== false || !leader.process.isAlive || grade === undefined) return
      const better = betterThan(grade, started, run.now - boundMs)
      if (better !== undefined) violated(`${leader.name} leads, although ${better.identity} is better`)
    }
    const interrupted = () => {
      judgeLeader()
      calmSince = undefined
    }
    return {
      calm: () => {
        calmSince = run.now
      },
      disturbed: interrupted,
      'rollout-began': interrupted,
      'rollout-ended': () => {
        if (run.isCalm) calmSince = run.now
      },
      'process-started': ({ process }) => void started.set(process, run.now),
      'process-ended': ({ process }) => {
        started.delete(process)
        // Its lease expires, and then the first replica that sees this leads.
        if (process === leader?.process && calmSince !== undefined) calmSince = run.now
      },
      'term-began': ({ term }) => {
        const former = leader
        leader = term
        if (!isSettled() || former === undefined || isBetterChoice(term.process, former.process)) return
        violated(`${term.name} followed ${former.name}, although it is not better`)
      },
      ended: judgeLeader,
    }
  },
}

function betterThan(grade: number, started: ReadonlyMap<ProcessLife, number>, before: Run['now']) {
  return [...started].find(
    ([process, at]) => at < before && process.isAlive && (process.grade ?? -Infinity) > grade,
  )?.[0]
}

/** Whether a leader had to make way: its process stops, or the next one is better. */
function isBetterChoice(next: ProcessLife, former: ProcessLife): boolean {
  if (next === former || !former.isAlive || former.isStopping) return true
  return next.grade === undefined || former.grade === undefined || next.grade > former.grade
}
