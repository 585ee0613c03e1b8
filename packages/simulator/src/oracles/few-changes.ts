import type { Oracle } from './oracle.ts'
import { QuietRollouts } from './quiet-rollouts.ts'

/** O8. A Deployment's rollout changes the leader once, a StatefulSet's twice: it stops a replica before it starts the new one. */
export const fewChanges: Oracle = {
  id: 'O8',
  rule: 'A rollout without faults changes the leader no more often than it must.',
  judge(run, violated) {
    const rollouts = new QuietRollouts(run)
    return {
      ...rollouts.judge,
      'term-began': ({ term }) => {
        const { present, leader } = rollouts
        rollouts.leader = term
        if (present === undefined || leader === undefined || leader.process === term.process) return
        if (present.isCrashing(leader.process) || present.isCrashing(term.process)) return
        present.changes += 1
        if (present.changes <= present.maxChanges) return
        violated(`${present.what} has changed the leader ${present.changes} times, to ${term.process.identity} at last`)
      },
    }
  },
}
