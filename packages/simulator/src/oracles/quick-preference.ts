import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O13. Counted from the end of the term that makes way to the first task of the next one. A term that was ending already does not make way. */
export const quickPreference: Oracle = {
  id: 'O13',
  rule: 'Without faults a leader that makes way for a preferred candidate leaves the lease without a leader for less than a lease duration.',
  judge(run, violated) {
    let leader: TermLife | undefined
    let isAsked = false
    let since: number | undefined
    const forget = () => {
      isAsked = false
      since = undefined
    }
    const judgeGap = () => {
      if (since === undefined || run.now - since <= run.timing.leaseDurationMs) return
      violated(`there was no leader for ${Math.round(run.now - since)} ms after a preference`)
    }
    return {
      disturbed: forget,
      'process-ended': ({ process }) => {
        if (process === leader?.process) forget()
      },
      'holder-preferred': ({ holder }) => {
        isAsked = run.isCalm && holder === leader?.process.identity && !leader.isEnding
      },
      'term-began': ({ term }) => {
        leader = term
      },
      'term-over': ({ term }) => {
        if (term === leader && isAsked) since = run.now
      },
      'task-began': () => {
        judgeGap()
        forget()
      },
      ended: judgeGap,
    }
  },
}
