import { NAMES } from '../edges/model-state.ts'
import type { Action } from './actions.ts'
import { compile, type Compiled, type Value, withNames, type World } from './evaluate.ts'
import type { Formula } from './formula.ts'
import { slotOf } from './world.ts'

/** The names that a state has: its replicas, slots and versions. */
export interface Pools {
  readonly Replica: readonly Value[]
  readonly Slot: readonly Value[]
  readonly Int: readonly Value[]
}

export function poolsOf(versions: number, slots: number): Pools {
  return { Replica: NAMES, Slot: numbers(slots).map(slotOf), Int: numbers(versions) }
}

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index + 1)

/** Whether a step of the translation leads from a state of the model to another one. */
export type Leads = (from: World, to: World, pools: Pools) => boolean

/** Every way in which the parameters may be chosen. A duration is a lease, a validity, a tick, or none. */
export function choicesOf(sorts: Readonly<Record<string, string>>, pools: Pools, world: World): readonly World[] {
  const times: Readonly<Record<string, readonly Value[]>> = {
    w: [world['Wait'] as Value],
    l: [world['Validity'] as Value, 0],
    d: [1],
  }
  return Object.entries(sorts).reduce<readonly World[]>(
    (all, [name, sort]) =>
      all.flatMap((some) => (times[name] ?? pools[sort as keyof Pools]).map((value) => ({ ...some, [name]: value }))),
    [{}],
  )
}

/** Compiles what an action requires and does. */
export function compileAction({ params, guard, next }: Action): Leads {
  const may = compile(guard)
  const version = compile(next.version)
  const parts = [
    [compileAll(next.hist('x')), { x: 'Int' }, 'hist', 'x'],
    [compileAll(next.proc('q')), { q: 'Replica' }, 'proc', 'q'],
    [compileAll(next.msg('q', 't')), { q: 'Replica', t: 'Slot' }, 'msg', 'q t'],
  ] as const
  return (from, to, pools) =>
    choicesOf(params, pools, from).some((choice) => {
      const before = withNames(from, choice)
      if (may(before) !== true || version(before) !== to['Version']) return false
      return parts.every(([fields, sorts, name, of]) =>
        choicesOf(sorts, pools, from).every((at) => isSame(fields, withNames(before, at), name, of, withNames(to, at))),
      )
    })
}

type Fields = Readonly<Record<string, Compiled>>

function compileAll(fields: Readonly<Record<string, Formula>>): Fields {
  return Object.fromEntries(Object.entries(fields).map(([name, formula]) => [name, compile(formula)]))
}

/** Whether the fields have the same values, except those that mean nothing: of a missing record, a free slot, nobody, or the own wait. */
function isSame(fields: Fields, before: World, name: string, of: string, after: World): boolean {
  const read = (field: string): Value => compiled(`(${name}.${field} ${of})`)(after)
  const counts = (field: string): boolean => {
    if (name === 'hist') return field === 'here' || (read('here') === true && isNamed(field, read))
    if (name === 'msg') return field === 'sent' || read('sent') === true
    return field !== 'wait' || compiled(OWN)(after) !== true
  }
  return Object.entries(fields).every(([field, value]) => !counts(field) || value(before) === read(field))
}

function isNamed(field: string, read: (field: string) => Value): boolean {
  if (field.startsWith('holder')) return read('held') === true
  return !field.startsWith('src') || Number(read('srcInc')) >= 0
}

/** Whether the replica sees a record that names it. */
const OWN =
  '(and (hist.held (proc.view q)) (= (hist.holder (proc.view q)) q) (= (hist.holderInc (proc.view q)) (proc.inc q)))'

const known = new Map<Formula, Compiled>()
function compiled(formula: Formula): Compiled {
  const one = known.get(formula) ?? compile(formula)
  known.set(formula, one)
  return one
}
