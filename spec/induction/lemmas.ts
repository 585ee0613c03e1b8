import { and, atMost, eq, type Formula, implies, isOneOf, ite, less, not, or, plus } from './formula.ts'
import { isHeldBy, isSameWrite, isWrittenAs, names, seen, type State, stored } from './state.ts'

/** A part of the invariant, for all values of its variables. */
export interface Lemma {
  readonly name: string
  /** Versions begin with `v`, replicas with `p`, slots with `s`. */
  readonly vars: readonly string[]
  readonly of: (state: State, ...values: readonly Formula[]) => Formula
}

/** What a replica may act on now, or after it has seen its own write. It acts for `amount`, but not before `hold` has passed. */
interface Claim {
  readonly is: Formula
  readonly amount: Formula
  readonly hold: Formula
}

/** Its validity, a renewal that took effect unseen, and an acquisition that took effect unseen. */
function claimsOf(state: State, p: Formula, s: Formula): readonly Claim[] {
  const { mode, valid, hold } = state.proc(p)
  const m = state.msg(p, s)
  const isOwn = and(m.sent, m.done, m.held, eq(m.inc, state.proc(p).inc))
  const isAcquire = and(isOwn, eq(m.term, m.stamp), eq(mode, 'follow'))
  return [
    { is: isOneOf(mode, ['reserve', 'lead', 'drain', 'ending']), amount: valid, hold },
    { is: and(isOwn, isOneOf(mode, ['reserve', 'lead', 'drain'])), amount: m.left, hold },
    { is: isAcquire, amount: m.left, hold: holdAfter(state, p, s) },
  ]
}

function holdAfter(state: State, p: Formula, s: Formula): Formula {
  return ite(state.hist(state.msg(p, s).base).here, state.proc(p).hold, 'Wait')
}

/** Every claim of p ends within the time. */
function endsWithin(state: State, p: Formula, s: Formula, time: Formula): Formula {
  return and(...claimsOf(state, p, s).map(({ is, amount }) => implies(is, atMost(amount, time))))
}

const isVersion = (state: State, v: Formula): Formula => and(atMost('1', v), atMost(v, state.version))

const views: Lemma = {
  name: 'views and timers',
  vars: ['p1'],
  of: (state, p = '') => {
    const { view, inc, wait, valid, hold } = state.proc(p)
    const timers = [wait, valid, hold].map((timer) => atMost('0.0', timer))
    return and(isVersion(state, view), atMost('0', inc), ...timers, atMost(valid, 'Validity'))
  },
}

const versions: Lemma = { name: 'versions', vars: [], of: (state) => atMost('1', state.version) }

const modes: Lemma = {
  name: 'modes',
  vars: ['p1'],
  of: (state, p = '') => {
    const { mode, tasks, hold } = state.proc(p)
    return and(
      implies(isOneOf(mode, ['reserve', 'lead', 'drain', 'empty']), names(state, seen(state, p), p)),
      eq(tasks, isOneOf(mode, ['lead', 'drain', 'ending'])),
      implies(isOneOf(mode, ['lead', 'drain', 'empty', 'ending']), eq(hold, '0.0')),
    )
  },
}

const records: Lemma = {
  name: 'records',
  vars: ['v1'],
  of: (state, v = '') => {
    const rec = state.hist(v)
    const isByHolder = and(eq(rec.src, rec.holder), eq(rec.srcInc, rec.holderInc))
    return implies(
      isVersion(state, v),
      and(
        atMost('0', rec.stamp),
        atMost(rec.stamp, v),
        atMost(rec.term, v),
        implies(rec.held, and(rec.here, isByHolder)),
      ),
    )
  },
}

/** No record is by a process that has not started yet. */
const writers: Lemma = {
  name: 'writers',
  vars: ['v1', 'p1'],
  of: (state, v = '', p = '') => {
    const rec = state.hist(v)
    return implies(and(isVersion(state, v), eq(rec.src, p)), atMost(rec.srcInc, state.proc(p).inc))
  },
}

/** A version that was written before another one, which still shows it, is equal to it. */
const edits: Lemma = {
  name: 'edits change nothing',
  vars: ['v1', 'v2'],
  of: (state, v = '', w = '') => {
    const [a, b] = [state.hist(v), state.hist(w)]
    const isBefore = and(atMost('1', v), less(v, w), atMost(w, state.version), b.here, atMost(b.stamp, v))
    const isSame = and(eq(a.held, b.held), eq(a.holder, b.holder), eq(a.holderInc, b.holderInc), eq(a.term, b.term))
    return implies(isBefore, and(isWrittenAs(a, b), isSame))
  },
}

const messages: Lemma = {
  name: 'writes in flight',
  vars: ['p1', 's1'],
  of: (state, p = '', s = '') => {
    const m = state.msg(p, s)
    const me = state.proc(p)
    const base = state.hist(m.base)
    const continues = and(isHeldBy(base, p, m.inc), eq(m.term, base.term))
    const isMine = eq(m.inc, me.inc)
    return implies(
      m.sent,
      and(
        isVersion(state, m.base),
        isSameWrite(m, { stamp: plus(m.base, '1'), src: p, srcInc: m.inc, srcSlot: s }),
        atMost(m.inc, me.inc),
        atMost('0.0', m.left),
        atMost(m.left, 'Validity'),
        implies(m.done, less(m.base, state.version)),
        or(and(m.held, eq(m.term, m.stamp)), continues),
        implies(isMine, and(eq(m.base, me.view), implies(eq(m.term, m.stamp), eq(me.mode, 'follow')))),
        or(isMine, and(eq(m.left, '0.0'), not(m.done), eq(m.base, state.version))),
        or(m.held, not(isMine), isOneOf(me.mode, ['empty', 'follow'])),
      ),
    )
  },
}

/** A replica keeps each of its writes until it has seen it. */
const unseen: Lemma = {
  name: 'own writes until they are seen',
  vars: ['v1', 'p1'],
  of: (state, v = '', p = '') => {
    const rec = state.hist(v)
    const m = state.msg(p, rec.srcSlot)
    const { inc, view } = state.proc(p)
    const isOwn = and(isVersion(state, v), rec.here, eq(rec.src, p), eq(rec.srcInc, inc), less(view, rec.stamp))
    const isKept = and(m.sent, m.done, eq(m.inc, inc), eq(m.held, rec.held), eq(m.term, rec.term))
    return implies(isOwn, and(isKept, eq(m.stamp, rec.stamp)))
  },
}

/** A replica that waits for the holder waits for as long as anybody else may act. */
const waits: Lemma = {
  name: 'the wait for a holder',
  vars: ['p1', 'p2', 's2'],
  of: (state, p = '', q = '', s = '') => {
    const rec = seen(state, p)
    const isLast = and(rec.here, rec.held, not(names(state, rec, p)), isWrittenAs(rec, stored(state)))
    return implies(and(not(eq(p, q)), isLast), endsWithin(state, q, s, state.proc(p).wait))
  },
}

const free: Lemma = {
  name: 'a free lease',
  vars: ['p1', 's1'],
  of: (state, p = '', s = '') => {
    const { here, held } = stored(state)
    return implies(and(here, not(held)), endsWithin(state, p, s, '0.0'))
  },
}

const releases: Lemma = {
  name: 'releases in flight',
  vars: ['p1', 's1', 'p2', 's2'],
  of: (state, p = '', s = '', q = '', t = '') => {
    const m = state.msg(p, s)
    const mayFree = and(m.sent, not(m.done), not(m.held), eq(m.base, state.version))
    return implies(mayFree, endsWithin(state, q, t, '0.0'))
  },
}

const acquisitions: Lemma = {
  name: 'acquisitions in flight',
  vars: ['p1', 's1', 'p2', 's2'],
  of: (state, p = '', s = '', q = '', t = '') => {
    const m = state.msg(p, s)
    const base = state.hist(m.base)
    const mayAcquire = and(m.sent, not(m.done), eq(m.term, m.stamp), eq(m.base, state.version))
    const isOfOther = and(eq(m.inc, state.proc(p).inc), base.here, not(names(state, base, p)))
    return implies(and(not(eq(p, q)), mayAcquire, isOfOther), endsWithin(state, q, t, '0.0'))
  },
}

/** A replica that may still act beside the term of the stored record has stopped before that term acts. */
const current: Lemma = {
  name: 'the term of the stored record',
  vars: ['p1', 'p2', 's2'],
  of: (state, p = '', q = '', s = '') => {
    const [old, now] = [seen(state, p), stored(state)]
    const isCurrent = and(names(state, old, p), names(state, now, p), eq(old.term, now.term))
    return implies(and(not(eq(p, q)), isCurrent), endsWithin(state, q, s, state.proc(p).hold))
  },
}

const begun: Lemma = {
  name: 'a term that its holder has not seen',
  vars: ['p1', 's1', 'p2', 's2'],
  of: (state, p = '', s = '', q = '', t = '') => {
    const m = state.msg(p, s)
    const isBegun = and(m.sent, m.done, eq(m.inc, state.proc(p).inc), m.held, eq(m.term, m.stamp))
    const isCurrent = and(names(state, stored(state), p), eq(stored(state).term, m.stamp))
    return implies(and(not(eq(p, q)), isBegun, isCurrent), endsWithin(state, q, t, holdAfter(state, p, s)))
  },
}

/** Of two that may act, one has stopped before the other begins. */
const pairs: Lemma = {
  name: 'two that may act',
  vars: ['p1', 's1', 'p2', 's2'],
  of: (state, p = '', s = '', q = '', t = '') => {
    const all = claimsOf(state, p, s).flatMap((a) =>
      claimsOf(state, q, t).map((b) => {
        const areBoth = and(a.is, b.is, less('0.0', a.amount), less('0.0', b.amount))
        return implies(areBoth, or(atMost(a.amount, b.hold), atMost(b.amount, a.hold)))
      }),
    )
    return implies(not(eq(p, q)), and(...all))
  },
}

/** No two terms act at the same time. */
export const S1: Lemma = {
  name: 'S1',
  vars: ['p1', 'p2'],
  of: (state, p = '', q = '') => {
    const acts = (of: Formula): Formula => and(state.proc(of).tasks, less('0.0', state.proc(of).valid))
    return implies(not(eq(p, q)), not(and(acts(p), acts(q))))
  },
}

/** The invariant. */
export const LEMMAS: readonly Lemma[] = [
  versions,
  views,
  modes,
  records,
  writers,
  edits,
  messages,
  unseen,
  waits,
  free,
  releases,
  acquisitions,
  current,
  begun,
  pairs,
]
