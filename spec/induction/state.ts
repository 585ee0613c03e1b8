import { and, eq, type Formula } from './formula.ts'

/*
 * The state of the protocol, with the names of `Lease.tla`. Replicas and slots are uninterpreted sorts, so there may be any number of
 * them. Versions are integers. Times are real numbers.
 */

/** A version of the lease, or what a write makes of it. A record without a holder has `held` false. */
export type Rec = Readonly<
  Record<'here' | 'held' | 'holder' | 'holderInc' | 'term' | 'stamp' | 'src' | 'srcInc' | 'srcSlot', Formula>
>

/** What a replica knows and does. */
export type Proc = Readonly<Record<'mode' | 'view' | 'wait' | 'valid' | 'tasks' | 'hold' | 'inc', Formula>>

/** A write whose outcome its sender does not know. The slot is free if it is not `sent`. */
export type Msg = Readonly<
  Record<'sent' | 'base' | 'left' | 'inc' | 'done' | 'held' | 'term' | 'stamp' | 'src' | 'srcInc' | 'srcSlot', Formula>
>

export interface State {
  readonly version: Formula
  readonly hist: (version: Formula) => Rec
  readonly proc: (replica: Formula) => Proc
  readonly msg: (replica: Formula, slot: Formula) => Msg
}

type Sorts = Readonly<Record<string, string>>

const REC: Sorts = {
  here: 'Bool',
  held: 'Bool',
  holder: 'Replica',
  holderInc: 'Int',
  term: 'Int',
  stamp: 'Int',
  src: 'Replica',
  srcInc: 'Int',
  srcSlot: 'Slot',
}
const PROC: Sorts = {
  mode: 'Mode',
  view: 'Int',
  wait: 'Real',
  valid: 'Real',
  tasks: 'Bool',
  hold: 'Real',
  inc: 'Int',
}
const MSG: Sorts = {
  sent: 'Bool',
  base: 'Int',
  left: 'Real',
  inc: 'Int',
  done: 'Bool',
  held: 'Bool',
  term: 'Int',
  stamp: 'Int',
  src: 'Replica',
  srcInc: 'Int',
  srcSlot: 'Slot',
}

/** The assumption about the options: no validity is longer than the shortest wait, both in the time of the fastest clock. */
export const DECLARATIONS = [
  '(declare-sort Replica 0)',
  '(declare-sort Slot 0)',
  '(declare-datatypes ((Mode 0)) (((follow) (reserve) (lead) (drain) (empty) (ending))))',
  '(declare-const Wait Real)',
  '(declare-const Validity Real)',
  '(declare-const Version Int)',
  '(declare-fun slowly (Int Replica) Real)',
  '(declare-fun fast (Int Replica Slot) Real)',
  ...functionsOf('hist', REC, 'Int'),
  ...functionsOf('proc', PROC, 'Replica'),
  ...functionsOf('msg', MSG, 'Replica Slot'),
  '(assert (and (< 0.0 Validity) (< 0.0 Wait)))',
].join('\n')
export const MARGIN = '(<= Validity Wait)'

/** Any state. */
export const STATE: State = {
  version: 'Version',
  hist: (version) => fieldsOf('hist', REC, version),
  proc: (replica) => fieldsOf('proc', PROC, replica),
  msg: (replica, slot) => fieldsOf('msg', MSG, `${replica} ${slot}`),
}

export function stored(state: State): Rec {
  return state.hist(state.version)
}

export function seen(state: State, replica: Formula): Rec {
  return state.hist(state.proc(replica).view)
}

/** Whether the record names the running process of a replica. */
export function names(state: State, rec: Rec, replica: Formula): Formula {
  return isHeldBy(rec, replica, state.proc(replica).inc)
}

export function isHeldBy(rec: Rec, replica: Formula, inc: Formula): Formula {
  return and(rec.here, rec.held, eq(rec.holder, replica), eq(rec.holderInc, inc))
}

type Written = Pick<Rec, 'stamp' | 'src' | 'srcInc' | 'srcSlot'>

export function isSameWrite(a: Written, b: Written): Formula {
  return and(eq(a.stamp, b.stamp), eq(a.src, b.src), eq(a.srcInc, b.srcInc), eq(a.srcSlot, b.srcSlot))
}

export function isWrittenAs(a: Rec, b: Rec): Formula {
  return and(eq(a.here, b.here), isSameWrite(a, b))
}

function functionsOf(name: string, sorts: Sorts, of: string): readonly string[] {
  return Object.entries(sorts).map(([field, sort]) => `(declare-fun ${name}.${field} (${of}) ${sort})`)
}

function fieldsOf(name: string, sorts: Sorts, of: string): Readonly<Record<string, Formula>> {
  return Object.fromEntries(Object.keys(sorts).map((field) => [field, `(${name}.${field} ${of})`]))
}
