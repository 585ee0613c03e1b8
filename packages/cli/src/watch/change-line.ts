import { durationText } from '../status/duration.ts'
import type { LeaseChange } from './lease-changes.ts'

/** The sentence for a change, without the name of its lease. */
export function changeLine(change: LeaseChange): string {
  switch (change.kind) {
    case 'first-seen':
      return firstLine(change.holder)
    case 'acquired':
      return `${change.holder} acquired it (epoch ${change.epoch})${withText(', gap', change.gapMs)}`
    case 'transferred':
      return `${change.from} transferred it to ${change.holder}${withText(' after', change.lastedMs)} (epoch ${change.epoch}), no gap`
    case 'taken-over':
      return `${change.holder} took it over from ${change.from}${withText(' after', change.lastedMs)} (epoch ${change.epoch}), ${durationText(change.unrenewedMs)} after the last renewal`
    case 'released':
      return `${change.from} released it${withText(' after', change.lastedMs)}`
    case 'deleted':
      return `was deleted${change.from === '' ? '' : ` while ${change.from} held it`}`
    default:
      return requestLine(change)
  }
}

function requestLine(change: Extract<LeaseChange, { kind: 'requested' | 'declined' | 'draining' }>): string {
  if (change.kind === 'requested') return `is to be handed over${toText(change.to)}, as somebody requested`
  if (change.kind === 'draining') return `${change.holder} drains and offers it${toText(change.to)}`
  return `${change.holder} leads on, because ${change.to} did not answer its offer`
}

function firstLine(holder: string | undefined): string {
  if (holder === undefined) return 'does not exist'
  return holder === '' ? 'has no holder' : `is held by ${holder}`
}

function withText(text: string, ms: number | undefined): string {
  return ms === undefined ? '' : `${text} ${durationText(ms)}`
}

function toText(to: string | undefined): string {
  return to === undefined ? '' : ` to ${to}`
}
