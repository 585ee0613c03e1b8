import type { Manager } from '@tenure/core'
import type { EndedTerms } from './ended-terms.ts'
import type { Holdings } from './messages.ts'

/** Counts what this process holds: timers and handles, listeners of the process, health checks, and terms that have ended. */
export function takeHoldings(manager: Manager, endedTerms: EndedTerms): Holdings {
  const holdings: Record<string, number> = {}
  for (const type of process.getActiveResourcesInfo()) count(holdings, type)
  for (const name of process.eventNames()) {
    count(holdings, `listener for ${String(name)}`, process.listenerCount(name))
  }
  for (const name of manager.livez.names) count(holdings, `check livez/${name}`)
  for (const name of manager.readyz.names) count(holdings, `check readyz/${name}`)
  const { terms, abortListeners } = endedTerms.census()
  return { ...holdings, 'ended term': terms, 'abort listener of an ended term': abortListeners }
}

function count(holdings: Record<string, number>, name: string, by = 1): void {
  holdings[name] = (holdings[name] ?? 0) + by
}
