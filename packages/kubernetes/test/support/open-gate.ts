import { getEventListeners } from 'node:events'
import { LeadershipEndedError, type WriteGateClosedError } from '@tenure/core'
import { WriteGate } from '@tenure/core/internal'

/** The gate of a term, and what happens at it. */
export function openGate() {
  const closing = new AbortController()
  const refusals: WriteGateClosedError[] = []
  const noted: string[] = []
  const answers: boolean[] = []
  const term = {
    epoch: 42n,
    isHeld: () => answers.shift() ?? true,
    gateSignal: closing.signal,
    noteVersion: (collection: string, version: string) => void noted.push(`${collection}: ${version}`),
  }
  return {
    gate: new WriteGate(term, (refusal) => void refusals.push(refusal)),
    refusals,
    noted,
    /** What the term says of the next questions. */
    answers,
    close: () => closing.abort(new LeadershipEndedError('superseded', 42n)),
    listeners: () => getEventListeners(closing.signal, 'abort').length,
  }
}
