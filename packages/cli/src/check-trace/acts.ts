import type { TraceAct } from '@tenure/core/internal'
import { EPSILON_MS, ms } from './times.ts'
import { versionOf } from './records.ts'
import { HOLDING } from './replica.ts'
import type { Step } from './step.ts'
import { isWrite, numbers, sends } from './writes.ts'

/*
 * The rules of what a replica does: its terms begin, act and end.
 */

/** Judges an act. Acts of other kinds only show what an elector asks its process for. */
export function acts(step: Step, act: TraceAct): void {
  if (isWrite(act)) return sends(step, act)
  switch (act.u) {
    case 'read':
      reads(step, act.q)
      break
    case 'begin':
      begins(step, act)
      break
    case 'until':
      if (act === step.line.d?.findLast(({ u }) => u === 'until')) mayActUntil(step, act.until)
      break
    case 'end':
      ends(step, act.voluntary)
      break
    case 'over':
      isOver(step, act.outcome)
      break
    default:
      ASKED.get(act.u)?.(step)
  }
}

/** What an elector asks its process for, as far as it is judged. */
const ASKED: ReadonlyMap<string, (step: Step) => void> = new Map([
  ['wedged', isWedged],
  ['hard-abort', isAborted],
  ['stopped', hasStopped],
  ['identity-taken', hasStopped],
  ['exit', exits],
])

function reads(step: Step, q: number): void {
  const { replica } = step
  numbers(step, q)
  replica.reading = q
  replica.reads.set(q, replica.view?.version)
}

function isAborted(step: Step): void {
  const { end = 'none' } = step.replica.term ?? {}
  if (end === 'none') step.broken('state', 'a term is aborted that has not ended')
}

function hasStopped(step: Step): void {
  const { replica, line } = step
  if (line.s !== 'stopped') step.broken('state', `${replica.identity} has stopped and is ${line.s}`)
}

function exits(step: Step): void {
  const { term, header } = step.replica
  if (term?.isWedged !== true || header.onWedged === 'abandon')
    step.broken('state', 'a process ends although no term is wedged')
}

function isWedged(step: Step): void {
  const { term } = step.replica
  if (term === undefined || term.end === 'none') return step.broken('state', 'a term is wedged that has not ended')
  term.isWedged = true
}

function begins(step: Step, { k, until }: Extract<TraceAct, { u: 'begin' }>): void {
  const { replica, lease, line } = step
  const { grant, term, identity } = replica
  const epoch = versionOf(k)
  if (term !== undefined) step.broken('S5', `a term begins although the term with epoch ${term.epoch} is not over`)
  if (grant === undefined || grant.actFrom === Infinity)
    step.broken('begin', `${identity} begins a term without a write that is known to have happened`)
  else {
    if (grant.epoch !== epoch) step.broken('S6', `the term has epoch ${epoch} instead of ${grant.epoch}`)
    if (line.t < grant.actFrom - EPSILON_MS)
      step.broken('begin', `${identity} acts ${ms(grant.actFrom - line.t)} too early`)
  }
  if (line.t >= until) step.broken('begin', `a term begins ${ms(line.t - until)} after its end`)
  replica.grant = undefined
  replica.nonces.clear()
  replica.term = { epoch, until: line.t, end: 'none', isEmpty: false, isWedged: false }
  lease.begins(replica, epoch, step)
  mayActUntil(step, until)
}

/**
 * A term gets this time, or will when it begins. Only the last time of a step counts: a renewal that another client has edited since prolongs and
 * shortens the term in one step. Writes that are known to have happened must cover it.
 */
function mayActUntil(step: Step, until: number): void {
  const { replica, lease } = step
  const { term, validUntil } = replica
  const isLonger = term === undefined || until > term.until
  if (isLonger && until > validUntil + EPSILON_MS)
    step.broken(
      'validity',
      `${replica.identity} may act until ${ms(validUntil)}, and acts ${ms(until - validUntil)} longer`,
    )
  if (term === undefined) return
  term.until = until
  if (isLonger && !term.isEmpty) lease.acts(replica, term, step)
}

function ends(step: Step, voluntary: boolean): void {
  const { term } = step.replica
  if (term === undefined) return step.broken('state', 'a term ends that has not begun')
  if (voluntary && term.end !== 'none') step.broken('state', 'a term that ends begins to end voluntarily')
  term.end = voluntary ? 'voluntary' : 'involuntary'
}

/** Every task of the term has settled. */
export function isDrained({ replica, lease }: Step): void {
  const { term } = replica
  if (term === undefined || term.end === 'none') return
  term.isEmpty = true
  lease.ends(replica)
}

function isOver(step: Step, outcome: string): void {
  const { replica, lease } = step
  const { term, header } = replica
  if (term === undefined) return step.broken('state', 'a term is over that has not begun')
  const isAbandoned = term.isWedged && header.onWedged === 'abandon'
  if (!term.isEmpty && !isAbandoned)
    step.broken('S5', `the term with epoch ${term.epoch} is over although it is not empty`)
  judgeOutcome(step, outcome)
  lease.ends(replica)
  replica.term = undefined
  replica.lose()
}

/** A term has this outcome only if the write that makes it is known to have happened. */
function judgeOutcome(step: Step, outcome: string): void {
  const { view, identity } = step.replica
  const holder = view?.record?.h
  if (outcome === 'released' && holder !== '') step.broken('state', 'a release was not acknowledged')
  if (outcome === 'transferred' && (holder === '' || holder === identity))
    step.broken('state', 'a transfer was not acknowledged')
}

/** Judges the state after a step. */
export function settles(step: Step): void {
  const { replica, line } = step
  const { s } = line
  const { term } = replica
  if (s !== expectedState(step)) step.broken('state', `${replica.identity} is ${s} ${ofTerm(step)}`)
  mayAcquire(step)
  const isActing = s === 'leading' || (s === 'draining' && term?.isEmpty === false)
  if (step.isLost && isActing)
    step.broken('validity', `${replica.identity} goes on although it sees that the lease is not its own`)
  if (isActing && term !== undefined) mayGoOn(step, term.until)
  if (HOLDING.has(s)) return
  mayDecline(step)
  replica.lose()
}

/** While a replica is acquiring, an acquisition is on its way. */
function mayAcquire(step: Step): void {
  const { identity, writes } = step.replica
  if (step.line.s !== 'acquiring') return
  for (const { u, isAnswered } of writes.values()) if (u === 'acquire' && !isAnswered) return
  step.broken('state', `${identity} is acquiring without a write`)
}

/**
 * A replica declines a lease that it has acquired if too little time is left, which takes longer than a request; if others cannot see the acquisition;
 * and if it stops.
 */
function mayDecline(step: Step): void {
  const { replica, line, acquired } = step
  const { grant, header, lastAcquire } = replica
  if (acquired === undefined || acquired.q !== lastAcquire || grant?.actFrom === Infinity) return
  if (line.s === 'stopped' || line.t >= acquired.sentAt + header.requestMs) return
  step.broken('state', `${replica.identity} is ${line.s} although its acquisition is known to have happened`)
}

function mayGoOn(step: Step, until: number): void {
  const { replica, line } = step
  if (line.e === 'wake' && line.t >= until)
    step.broken('validity', `${replica.identity} goes on ${ms(line.t - until)} after its time`)
  if (until > replica.validUntil + EPSILON_MS)
    step.broken(
      'validity',
      `${replica.identity} may act until ${ms(replica.validUntil)}, and acts ${ms(until - replica.validUntil)} longer`,
    )
}

/** The state that the term allows; any other one is the state itself. */
function expectedState({ replica, line }: Step): string {
  const { term } = replica
  if (term === undefined) return TERM_STATES.has(line.s) ? 'without a term' : line.s
  if (term.end === 'none') return 'leading'
  if (term.end === 'involuntary') return 'aborting'
  return term.isEmpty && line.s === 'releasing' ? 'releasing' : 'draining'
}

const TERM_STATES: ReadonlySet<string> = new Set(['leading', 'draining', 'aborting'])

function ofTerm({ replica: { term } }: Step): string {
  if (term === undefined) return 'without a term'
  return `in a term whose end is ${term.end}${term.isEmpty ? ', empty' : ''}`
}
