import type { Run } from '../run.ts'
import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'
import { deleteTermsOf } from './terms-of-process.ts'

/** O5. Judged in calm times only. A term that ends still counts while it lasts. */
export const alwaysALeader: Oracle = {
  id: 'O5',
  rule: 'In undisturbed time there is a leader at work within a bounded time.',
  judge(run, violated) {
    const terms = new Set<TermLife>()
    /** When the calm time without a leader began. */
    let since: number | undefined
    const boundMs = longestVacancyMs(run)
    const judgeVacancy = () => {
      if (since === undefined || run.now - since <= boundMs) return
      violated(`nobody has led for ${Math.round(run.now - since)} ms of undisturbed time, more than ${boundMs}`)
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

/**
 * The lease has to run out, twice where it was deleted (its successor is held for as long before anybody acts); a request may have
 * just been sent; and a replica that stepped down does not acquire for a while. All of it on the slowest clock.
 */
function longestVacancyMs({ timing }: Run): number {
  const { leaseDurationMs, requestTimeoutMs, retryPeriodMs, clockRateTolerance } = timing
  const ms = 2 * leaseDurationMs + 2 * requestTimeoutMs + 6 * retryPeriodMs
  return Math.round(ms * (1 + clockRateTolerance))
}
