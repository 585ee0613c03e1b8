import type { Oracle } from './oracle.ts'
import { QuietRollouts } from './quiet-rollouts.ts'

/** The longest hold-back of a follower that is not on the list, at the slowest writes without faults, and two writes with their news. */
const MAX_GAP_MS = 500

/** O9. Counted from the release, or the end of the term or process, to the first task of the next term. */
export const quickSuccession: Oracle = {
  id: 'O9',
  rule: `A rollout without faults never leaves the lease without a leader for more than ${MAX_GAP_MS} ms.`,
  judge(run, violated) {
    const rollouts = new QuietRollouts(run)
    let since: number | undefined
    const vacant = () => {
      if (rollouts.present !== undefined) since ??= run.now
    }
    return {
      ...rollouts.judge,
      disturbed: () => {
        rollouts.judge.disturbed?.({ kind: 'disturbed' })
        since = undefined
      },
      'term-began': ({ term }) => {
        rollouts.leader = term
      },
      'task-began': ({ term }) => {
        if (since === undefined || term !== rollouts.leader) return
        const gapMs = run.now - since
        since = undefined
        if (gapMs > MAX_GAP_MS) violated(`there was no leader for ${Math.round(gapMs)} ms before ${term.name}`)
      },
      'lease-given-up': ({ process }) => {
        if (process === rollouts.leader?.process) vacant()
      },
      'term-over': ({ term }) => {
        if (term === rollouts.leader) vacant()
      },
      'process-ended': ({ process }) => {
        if (process === rollouts.leader?.process && rollouts.present?.isCrashing(process) !== true) vacant()
      },
    }
  },
}
