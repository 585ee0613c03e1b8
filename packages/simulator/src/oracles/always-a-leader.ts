import type { Simulation } from '../simulation.ts'
import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O5. Judged in calm times only. A term that ends still counts while it lasts. */
export const alwaysALeader: Oracle = {
  id: 'O5',
  rule: 'In undisturbed time there is a leader at work within a bounded time.',
  sit(simulation, violated) {
    const terms = new Set<TermLife>()
    /** Since when nobody leads although nothing disturbs. */
    let since: number | undefined
    const boundMs = longestVacancyMs(simulation)
    const judge = () => {
      if (since === undefined || simulation.now - since <= boundMs) return
      violated(`nobody has led for ${Math.round(simulation.now - since)} ms of undisturbed time, more than ${boundMs}`)
      since = undefined
    }
    return (fact) => {
      switch (fact.kind) {
        case 'calm':
          since = isLed(terms) ? undefined : simulation.now
          break
        case 'disturbed':
          judge()
          since = undefined
          break
        case 'term-began':
          terms.add(fact.term)
          break
        case 'task-began':
          judge()
          since = undefined
          break
        case 'term-over':
          terms.delete(fact.term)
          if (simulation.weather.isCalm && !isLed(terms)) since = simulation.now
          break
        case 'process-ended':
          for (const term of terms) if (term.process === fact.process) terms.delete(term)
          if (simulation.weather.isCalm && !isLed(terms)) since ??= simulation.now
          break
        case 'ended':
          judge()
          break
        default:
      }
    }
  },
}

function isLed(terms: ReadonlySet<TermLife>): boolean {
  for (const term of terms) if (term.hasTasks) return true
  return false
}

/**
 * The lease has to run out, twice where it was deleted (its successor is held for as long before anybody acts); a request may have
 * just been sent; and whoever left the lease on purpose keeps away from it for a while. All of it on the slowest clock.
 */
function longestVacancyMs({ timing }: Simulation): number {
  const { leaseDurationMs, requestTimeoutMs, retryPeriodMs, clockRateTolerance } = timing
  const ms = 2 * leaseDurationMs + 2 * requestTimeoutMs + 6 * retryPeriodMs
  return Math.round(ms * (1 + clockRateTolerance))
}
