import type { Oracle } from './oracle.ts'
import { QuietRollouts } from './quiet-rollouts.ts'

/** A standby joins the list of a new leader within this long: the longest hold-back of the newest revision, and two writes with their news. */
const JOINING_MS = 150

/** O8. A Deployment's rollout changes the leader once, a StatefulSet's twice: it stops a replica before it starts the new one. */
export const fewChanges: Oracle = {
  id: 'O8',
  rule: 'A rollout without faults changes the leader no more often than it must.',
  judge(run, violated) {
    const rollouts = new QuietRollouts(run)
    let ledSince = run.now
    return {
      ...rollouts.judge,
      'process-stopping': ({ process }) => {
        const { present, leader } = rollouts
        if (present === undefined || leader?.isOver !== false || leader.process !== process) return
        // It may not know yet which standby is of the newest revision.
        if (run.now - ledSince < JOINING_MS) present.changes -= 1
      },
      'term-began': ({ term }) => {
        const { present, leader } = rollouts
        rollouts.leader = term
        ledSince = run.now
        if (present === undefined || leader === undefined || leader.process === term.process) return
        if (present.isCrashing(leader.process) || present.isCrashing(term.process)) return
        present.changes += 1
        if (present.changes <= present.maxChanges) return
        violated(`${present.what} has changed the leader ${present.changes} times, to ${term.process.identity} at last`)
      },
    }
  },
}
