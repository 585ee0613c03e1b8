import type { TraceAct, TraceHeader, TraceLine } from '@tenure/core/internal'

/*
 * The words of a trace, and what the line of each event says. A line with another word is none of a trace: it would be passed over, and with it
 * what the elector did.
 */

/** What a line says of its event. */
type Said = { readonly [Key in 'q' | 'f' | 'v' | 'k' | 'r' | 'x' | 'g' | 'h' | 'a']?: unknown }

function saysNoRequest({ q, f }: Said): boolean {
  return q === undefined && f === undefined
}

function saysNoLease({ v, k, r, x, g }: Said): boolean {
  return v === undefined && k === undefined && r === undefined && x === undefined && g === undefined
}

function saysNoDeath({ h, a }: Said): boolean {
  return h === undefined && a === undefined
}

function saysNothing(said: Said): boolean {
  return saysNoRequest(said) && saysNoLease(said) && saysNoDeath(said)
}

/** Whether it shows the lease, or that it is missing. A record has a version. */
function showsLease({ v, k, r, x, g }: Said): boolean {
  return r === undefined ? k === undefined && x === undefined && g === undefined : v !== undefined
}

function isAnswer(said: Said): boolean {
  const { q, f } = said
  const isShown = f === undefined ? showsLease(said) : FAILURES.has(f) && saysNoLease(said)
  return typeof q === 'number' && isShown && saysNoDeath(said)
}

const EVENTS: Readonly<Record<TraceLine['e'], (said: Said) => boolean>> = {
  start: saysNothing,
  stop: saysNothing,
  'step-down': saysNothing,
  lost: saysNothing,
  observed: (said) => showsLease(said) && saysNoRequest(said) && saysNoDeath(said),
  'watch-up': saysNothing,
  'watch-down': saysNothing,
  'write-answer': isAnswer,
  'read-answer': isAnswer,
  cleaning: saysNothing,
  'cleanup-overdue': saysNothing,
  drained: saysNothing,
  'holder-dead': (said) => typeof said.h === 'string' && saysNoRequest(said) && saysNoLease(said),
  wake: saysNothing,
}

/** A set of words. The compiler sees to it that none is missing. */
function words<W extends string>(known: Readonly<Record<W, true>>): ReadonlySet<unknown> {
  return new Set(Object.keys(known))
}

const FAILURES = words<NonNullable<TraceLine['f']>>({
  conflict: true,
  'not-found': true,
  unauthenticated: true,
  forbidden: true,
  rejected: true,
  throttled: true,
  unreachable: true,
  'unknown-outcome': true,
})

const STATES = words<TraceLine['s']>({
  idle: true,
  following: true,
  acquiring: true,
  reserving: true,
  leading: true,
  draining: true,
  aborting: true,
  releasing: true,
  stopped: true,
})

const DECIDERS = words<NonNullable<TraceLine['c']>>({ asking: true, server: true, peers: true })

const REASONS = words<Extract<TraceAct, { u: 'end' }>['why']>({
  shutdown: true,
  'step-down': true,
  transferred: true,
  'controller-failed': true,
  'renew-deadline': true,
  superseded: true,
  'lease-deleted': true,
  stalled: true,
  'elector-failed': true,
})

const OUTCOMES = words<Extract<TraceAct, { u: 'over' }>['outcome']>({
  released: true,
  transferred: true,
  expired: true,
  lost: true,
})

const STARTS = words<TraceHeader['missingLease']>({ create: true, wait: true })

const POLICIES = words<TraceHeader['onWedged']>({ exit: true, hold: true, abandon: true })

const SAID: ReadonlyMap<unknown, (said: Said) => boolean> = new Map(Object.entries(EVENTS))

/** Whether a line has a known event and says what belongs to it, and a known state. */
export function isKnownStep(
  line: Said & { readonly e?: unknown; readonly s?: unknown; readonly c?: unknown },
): boolean {
  const isSaid = SAID.get(line.e)
  return isSaid !== undefined && isSaid(line) && STATES.has(line.s) && (line.c === undefined || DECIDERS.has(line.c))
}

/** Whether a term can end for this reason. */
export function isReason(why: unknown): boolean {
  return REASONS.has(why)
}

/** Whether a term can have this outcome. */
export function isOutcome(outcome: unknown): boolean {
  return OUTCOMES.has(outcome)
}

/** Whether the settings of an elector are known ones. */
export function areSettings(header: { readonly [Key in keyof TraceHeader]?: unknown }): boolean {
  const { missingLease, onWedged, leaseMs, requestMs, acquireDelayMs, tolerance } = header
  const areTimes = Number(leaseMs) > 0 && Number(requestMs) > 0 && Number(acquireDelayMs) >= 0
  const isTolerance = Number(tolerance) >= 0 && Number(tolerance) < 1
  return areTimes && isTolerance && STARTS.has(missingLease) && POLICIES.has(onWedged)
}
