import { textOf } from '@tenure/core/internal'
import type { EndpointsMode } from './endpoints-options.ts'
import type { SliceEndpoint } from './slice-endpoint.ts'

/** What an explanation is made of. */
export interface EndpointsStanding {
  readonly mode: EndpointsMode
  readonly slice: string
  readonly isStarted: boolean
  readonly isStopped: boolean
  readonly isListed: boolean
  /** The number of entries in the slice. */
  readonly count: number
  /** What this replica wants to be. */
  readonly own: SliceEndpoint | undefined
  /** What keeps it from being that. */
  readonly problem: Error | undefined
  /** What the group says. */
  readonly group: string | undefined
}

/** Explains whether this replica is in the slice, in one or two sentences. */
export function explainEndpoints(standing: EndpointsStanding): string {
  const { mode, slice, isStarted, isStopped, group } = standing
  if (mode === 'none') return `It writes no EndpointSlice (mode \`none\`).`
  if (!isStarted) return `It has not looked at the EndpointSlice ${slice} yet.`
  if (isStopped) return `It has stopped and left the EndpointSlice ${slice}.`
  return [explainEntry(standing), ...(group === undefined ? [] : [group])].join(' ')
}

function explainEntry(standing: EndpointsStanding): string {
  const { mode, slice, isListed, count, own, problem } = standing
  const because = problem === undefined ? '' : `: ${textOf(problem)}`
  if (own === undefined) {
    const why = mode === 'leader' ? 'it does not lead' : 'it is not ready yet'
    return `It is not in the EndpointSlice ${slice} with ${count} entries, because ${why}${because}.`
  }
  if (!isListed) return `It is to be in the EndpointSlice ${slice} with ${count} entries, but is not${because}.`
  const as = own.terminating ? ' as terminating' : own.ready ? '' : ' as not ready'
  return `It is in the EndpointSlice ${slice} with ${count} entries${as}${because}.`
}
