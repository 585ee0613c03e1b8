import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'
import { deleteTermsOf } from './terms-of-process.ts'

/** O5. Checked only in periods without faults. A term counts until it has ended. */
export const alwaysALeader: Oracle = {
  id: 'O5',
  rule: 'Without faults there is a leader at work within a bounded time.',
  judge(run, violated) {
    const terms = new Set<TermLife>()
    /** The time since which there has been neither a fault nor a leader. */
    let since: number | undefined
    const boundMs = run.longestVacancyMs
    const judgeVacancy = () => {
      if (since === undefined || run.now - since <= boundMs) return
      violated(`no replica has led for ${Math.round(run.now - since)} ms without faults, more than ${boundMs} ms`)
      since = undefined
    }
    const endVacancy = () => {
      judgeVacancy()
      since = undefined
    }
    const isVacant = () => run.isCalm && !isLed(terms)
    return {
      calm: () => {
        since = isLed(terms) ? undefined : run.now
      },
      disturbed: endVacancy,
      'term-began': ({ term }) => terms.add(term),
      'task-began': endVacancy,
      'term-over': ({ term }) => {
        terms.delete(term)
        if (isVacant()) since = run.now
      },
      'process-ended': ({ process }) => {
        deleteTermsOf(process, terms)
        if (isVacant()) since ??= run.now
      },
      ended: judgeVacancy,
    }
  },
}

function isLed(terms: ReadonlySet<TermLife>): boolean {
  for (const term of terms) if (term.hasTasks) return true
  return false
}
