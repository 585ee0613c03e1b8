import {
  and,
  atMost,
  choose,
  eq,
  FALSE,
  type Formula,
  implies,
  isOneOf,
  ite,
  less,
  lessened,
  not,
  or,
  plus,
  TRUE,
} from './formula.ts'
import { isSameWrite, isWrittenAs, type Msg, names, type Proc, type Rec, seen, type State, stored } from './state.ts'

/** The broken rules, with the names of `spec/models.ts` where they have one. */
export const WRONG = [
  'validity from the response',
  'validity from reading back',
  'expiry from the send of a poll',
  'deleted lease created and acted on',
  'release before the drain',
  'clocks without a margin',
  'written on a fresher version',
  'tasks started again',
  'acquired without waiting',
] as const
export type Wrong = (typeof WRONG)[number]

/** A step of the world or of a replica. Its parameters stand for any value of their sorts. */
export interface Action {
  readonly name: string
  readonly params: Readonly<Record<string, 'Replica' | 'Slot' | 'Int' | 'Real'>>
  readonly guard: Formula
  readonly next: State
}

const P = { p: 'Replica' } as const
const PS = { p: 'Replica', s: 'Slot' } as const
const FOLLOWING = ['reserve', 'lead', 'drain', 'empty']

/** All steps from a state. `wrong` is the broken rule, if any. */
export function actionsFrom(state: State, wrong?: Wrong): readonly Action[] {
  return [...worldActions(state), ...writes(state, wrong), see(state, wrong), ...inner(state, wrong)]
}

function worldActions(state: State): readonly Action[] {
  const { here } = stored(state)
  const absent: Rec = { ...stored(state), here: FALSE, held: FALSE, term: '0', stamp: '0', srcInc: '(- 1)' }
  return [
    { name: 'Tick', params: { d: 'Real' }, guard: atMost('0.0', 'd'), next: ticked(state) },
    { name: 'Delete', params: {}, guard: here, next: withVersion(state, absent, state.msg) },
    { name: 'Edit', params: {}, guard: here, next: withVersion(state, stored(state), state.msg) },
    takeEffect(state),
    lose(state),
    crash(state),
  ]
}

/*
 * `d` is the time that passes on the fastest clock. A timer of a wait loses at most that, a timer of a validity at least that.
 */
function ticked(state: State): State {
  const slow = (index: number, p: Formula): Formula => {
    const loss = `(slowly ${index} ${p})`
    return ite(and(atMost('0.0', loss), less(loss, 'd')), loss, 'd')
  }
  const quick = (loss: Formula): Formula => ite(less('d', loss), loss, 'd')
  return {
    ...state,
    proc: (q) => {
      const old = state.proc(q)
      return {
        ...old,
        wait: lessened(old.wait, slow(0, q)),
        hold: lessened(old.hold, slow(1, q)),
        valid: lessened(old.valid, quick(`(slowly 2 ${q})`)),
      }
    },
    msg: (q, t) => ({ ...state.msg(q, t), left: lessened(state.msg(q, t).left, quick(`(fast 0 ${q} ${t})`)) }),
  }
}

const mayLand = (msg: Msg, version: Formula): Formula => and(not(msg.done), atMost(version, msg.base))

function withVersion(state: State, rec: Rec, msg: State['msg']): State {
  const version = plus(state.version, '1')
  return {
    ...state,
    version,
    hist: (v) => choose(eq(v, version), rec, state.hist(v)),
    msg: (q, t) => {
      const old = msg(q, t)
      return { ...old, sent: and(old.sent, or(eq(old.inc, state.proc(q).inc), mayLand(old, version))) }
    },
  }
}

function takeEffect(state: State): Action {
  const m = state.msg('p', 's')
  const { held, term, stamp, src, srcInc, srcSlot } = m
  const rec: Rec = { here: TRUE, held, holder: 'p', holderInc: m.inc, term, stamp, src, srcInc, srcSlot }
  const done = (q: Formula, t: Formula): Msg => ({
    ...state.msg(q, t),
    done: or(and(eq(q, 'p'), eq(t, 's')), state.msg(q, t).done),
  })
  const guard = and(m.sent, not(m.done), eq(m.base, state.version))
  return { name: 'TakeEffect', params: PS, guard, next: withVersion(state, rec, done) }
}

function lose(state: State): Action {
  const m = state.msg('p', 's')
  const guard = and(m.sent, mayLand(m, state.version))
  return { name: 'Lose', params: PS, guard, next: withMsg(state, { ...m, sent: FALSE }) }
}

function crash(state: State): Action {
  const me = state.proc('p')
  const fresh: Proc = {
    mode: 'follow',
    view: state.version,
    wait: waitOn(stored(state), 'w'),
    valid: '0.0',
    tasks: FALSE,
    hold: '0.0',
    inc: plus(me.inc, '1'),
  }
  const next: State = {
    ...withProc(state, fresh),
    msg: (q, t) => {
      const old = state.msg(q, t)
      return choose(eq(q, 'p'), { ...old, left: '0.0', sent: and(old.sent, mayLand(old, state.version)) }, old)
    },
  }
  return { name: 'Crash', params: { p: 'Replica', w: 'Real' }, guard: atMost('Wait', 'w'), next }
}

/** `time` is any time that is at least the duration in the record. */
const waitOn = (rec: Rec, time: Formula): Formula => ite(and(rec.here, rec.held), time, '0.0')

function withProc(state: State, next: Proc): State {
  return { ...state, proc: (q) => choose(eq(q, 'p'), next, state.proc(q)) }
}

function withMsg(state: State, next: Msg): State {
  return { ...state, msg: (q, t) => choose(and(eq(q, 'p'), eq(t, 's')), next, state.msg(q, t)) }
}

/** What p learns when it sees `v`, a later version. */
function see(state: State, wrong: Wrong | undefined): Action {
  const me = state.proc('p')
  const rec = state.hist('v')
  const m = state.msg('p', rec.srcSlot)
  const isLanded = and(m.sent, eq(m.inc, me.inc), rec.here, eq(m.src, 'p'), isSameWrite(rec, m), eq(rec.held, m.held))
  const holds = isOneOf(me.mode, FOLLOWING)
  const isSameTerm = and(names(state, rec, 'p'), eq(rec.term, seen(state, 'p').term))
  const isPolled = wrong === 'expiry from the send of a poll'
  const wait = ite(isWrittenAs(seen(state, 'p'), rec), me.wait, waitOn(rec, isPolled ? 'x' : 'w'))
  const lost = { ...lostBy(me), view: 'v', wait: waitOn(rec, 'w') }
  const other = choose(and(holds, isSameTerm), { ...me, view: 'v' }, choose(holds, lost, { ...me, view: 'v', wait }))
  const next: State = {
    ...withProc(state, choose(isLanded, afterOwnWrite(state, m, wait, wrong), other)),
    msg: (q, t) => {
      const old = state.msg(q, t)
      return { ...old, sent: and(old.sent, or(not(eq(q, 'p')), atMost('v', old.base))) }
    },
  }
  // What is left of the wait if it is counted from the send of the poll.
  const polled = isPolled ? [atMost('0.0', 'x'), atMost('x', 'w')] : []
  const guard = and(less(me.view, 'v'), atMost('v', state.version), atMost('Wait', 'w'), ...polled)
  const params = { p: 'Replica', v: 'Int', w: 'Real' } as const
  return { name: 'See', params: isPolled ? { ...params, x: 'Real' } : params, guard, next }
}

function lostBy(me: Proc): Proc {
  return { ...me, mode: ite(me.tasks, 'ending', 'follow'), valid: ite(me.tasks, me.valid, '0.0') }
}

function afterOwnWrite(state: State, m: Msg, wait: Formula, wrong: Wrong | undefined): Proc {
  const me = state.proc('p')
  const held = state.hist(m.base).here
  const hold = wrong === 'deleted lease created and acted on' ? me.hold : ite(held, me.hold, 'w')
  const left = leftOf(m, wrong)
  const seenIt = { ...me, view: 'v', wait: '0.0' }
  const freed = { ...seenIt, mode: ite(me.tasks, me.mode, 'follow'), valid: ite(me.tasks, me.valid, '0.0'), wait }
  const isAtOnce = eq(hold, '0.0')
  const begun = { ...seenIt, mode: ite(isAtOnce, 'lead', 'reserve'), tasks: isAtOnce, valid: left, hold }
  const acquired = choose(eq(left, '0.0'), { ...seenIt, hold }, begun)
  const renewed = { ...seenIt, valid: ite(less(me.valid, left), left, me.valid) }
  const isAcquire = and(eq(me.mode, 'follow'), eq(m.term, m.stamp))
  const kept = choose(isAcquire, acquired, choose(isOneOf(me.mode, FOLLOWING), renewed, seenIt))
  return choose(m.held, kept, freed)
}

/** How long the write entitles its sender to act when it sees it. The response shows the version that the write made. */
function leftOf(m: Msg, wrong: Wrong | undefined): Formula {
  if (wrong === 'validity from reading back') return 'Validity'
  return wrong === 'validity from the response' ? ite(eq('v', plus(m.base, '1')), 'Validity', m.left) : m.left
}

/** Acquisitions, renewals and releases. `l` is the time that the write entitles its sender to act, counted from the send. */
function writes(state: State, wrong: Wrong | undefined): readonly Action[] {
  const me = state.proc('p')
  const send = (base: Formula, held: Formula, term: Formula, left: Formula): State => {
    const written = { stamp: plus(base, '1'), src: 'p', srcInc: me.inc, srcSlot: 's' }
    return withMsg(state, { sent: TRUE, base, left, inc: me.inc, done: FALSE, held, term, ...written })
  }
  const isSendable = and(not(state.msg('p', 's').sent), atMost('0.0', 'l'), atMost('l', 'Validity'))
  const base = wrong === 'written on a fresher version' ? state.version : me.view
  const rec = seen(state, 'p')
  const expired = wrong === 'acquired without waiting' ? TRUE : eq(me.wait, '0.0')
  const isFree = or(not(rec.here), not(rec.held), names(state, rec, 'p'), expired)
  const mayFree = wrong === 'release before the drain' ? ['empty', 'drain'] : ['empty']
  const params = { ...PS, l: 'Real' } as const
  return [
    {
      name: 'Acquire',
      params,
      guard: and(eq(me.mode, 'follow'), isSendable, isFree),
      next: send(base, TRUE, plus(base, '1'), 'l'),
    },
    {
      name: 'Renew',
      params,
      guard: and(isOneOf(me.mode, ['reserve', 'lead', 'drain']), less('0.0', me.valid), isSendable),
      next: send(me.view, TRUE, rec.term, 'l'),
    },
    {
      name: 'Release',
      params,
      guard: and(isOneOf(me.mode, mayFree), isSendable),
      next: send(me.view, FALSE, rec.term, '0.0'),
    },
  ]
}

/** The steps of a replica that nobody else notices. */
function inner(state: State, wrong: Wrong | undefined): readonly Action[] {
  const me = state.proc('p')
  const action = (name: string, guard: Formula, next: Proc): Action => ({
    name,
    params: P,
    guard,
    next: withProc(state, next),
  })
  const drains = eq(me.mode, 'drain')
  const drained = { ...me, tasks: FALSE, mode: ite(drains, 'empty', 'follow'), valid: ite(drains, me.valid, '0.0') }
  const isDue = and(eq(me.mode, 'reserve'), eq(me.hold, '0.0'), less('0.0', me.valid))
  const again = action('Restart', eq(me.mode, 'empty'), { ...me, mode: 'lead', tasks: TRUE })
  return [
    action('Act', isDue, { ...me, mode: 'lead', tasks: TRUE }),
    action('Abort', isOneOf(me.mode, ['reserve', 'lead', 'drain']), { ...lostBy(me), wait: '0.0' }),
    action('StepDown', eq(me.mode, 'lead'), { ...me, mode: 'drain' }),
    action('Drained', and(me.tasks, isOneOf(me.mode, ['drain', 'ending'])), drained),
    action('Leave', eq(me.mode, 'empty'), { ...me, mode: 'follow', valid: '0.0' }),
    ...(wrong === 'tasks started again' ? [again] : []),
  ]
}

/** The first states: a lease that is free or absent, and replicas that follow. */
export function isInitial(state: State, replicas: readonly Formula[], slots: readonly Formula[]): Formula {
  const rec = stored(state)
  const calm = replicas.map((p) => {
    const { mode, view, valid, tasks, hold, inc, wait } = state.proc(p)
    const idle = and(eq(mode, 'follow'), eq(view, '1'), not(tasks), eq(inc, '0'))
    const timers = [valid, hold, wait].map((timer) => eq(timer, '0.0'))
    return and(idle, ...timers, ...slots.map((s) => not(state.msg(p, s).sent)))
  })
  const free = and(eq(rec.term, '0'), eq(rec.stamp, '0'), eq(rec.srcInc, '(- 1)'), not(rec.held))
  return and(eq(state.version, '1'), free, implies(rec.held, rec.here), ...calm)
}
