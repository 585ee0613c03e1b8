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
    [comparisonsOf(next.hist('x'), 'hist', 'x'), { x: 'Int' }],
    [comparisonsOf(next.proc('q'), 'proc', 'q'), { q: 'Replica' }],
    [comparisonsOf(next.msg('q', 't'), 'msg', 'q t'), { q: 'Replica', t: 'Slot' }],
  ] as const
  return (from, to, pools) =>
    choicesOf(params, pools, from).some((choice) => {
      const before = withNames(from, choice)
      if (may(before) !== true || version(before) !== to['Version']) return false
      return parts.every(([comparisons, sorts]) =>
        choicesOf(sorts, pools, from).every((at) => areSame(comparisons, withNames(before, at), withNames(to, at))),
      )
    })
}

/** How a field is compared after a step. */
interface Comparison {
  /** The value after the step by the translation, which names the state before it. */
  readonly expected: Compiled
  /** The value after the step by the model. */
  readonly actual: Compiled
  /** Whether the value means anything after the step. That of a missing record, a free slot, nobody, or the own wait does not. */
  readonly counts: Compiled
}

function comparisonsOf(
  fields: Readonly<Record<string, Formula>>,
  name: 'hist' | 'proc' | 'msg',
  of: string,
): readonly Comparison[] {
  const reading = (field: string): Compiled => compile(`(${name}.${field} ${of})`)
  return Object.entries(fields).map(([field, formula]) => ({
    expected: compile(formula),
    actual: reading(field),
    counts: COUNTING[name](field, reading),
  }))
}

const always: Compiled = () => true

const COUNTING: Readonly<
  Record<'hist' | 'proc' | 'msg', (field: string, of: (field: string) => Compiled) => Compiled>
> = {
  hist: (field, of) => {
    if (field === 'here') return always
    const here = of('here')
    const isNamed = naming(field, of)
    return (world) => here(world) === true && isNamed(world) === true
  },
  proc: (field) => (field === 'wait' ? compile(`(not ${OWN})`) : always),
  msg: (field, of) => (field === 'sent' ? always : of('sent')),
}

function areSame(comparisons: readonly Comparison[], before: World, after: World): boolean {
  return comparisons.every(
    ({ expected, actual, counts }) => expected(before) === actual(after) || counts(after) !== true,
  )
}

function naming(field: string, of: (field: string) => Compiled): Compiled {
  if (field.startsWith('holder')) return of('held')
  if (!field.startsWith('src')) return always
  const incarnation = of('srcInc')
  return (world) => Number(incarnation(world)) >= 0
}

/** Whether the replica sees a record that names it. */
const OWN =
  '(and (hist.held (proc.view q)) (= (hist.holder (proc.view q)) q) (= (hist.holderInc (proc.view q)) (proc.inc q)))'
