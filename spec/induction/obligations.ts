import { type Action, actionsFrom, isInitial, type Wrong } from './actions.ts'
import { type Formula, not } from './formula.ts'
import { type Lemma, LEMMAS, S1 } from './lemmas.ts'
import { MARGIN, STATE } from './state.ts'

/** Formulas that must not have a model together. */
export interface Obligation {
  readonly step: string
  readonly lemma: string
  readonly formulas: readonly string[]
}

type Sort = 'Replica' | 'Slot' | 'Int' | 'Real'

/** The invariant holds at first, every step keeps it, and S1 follows from it. */
export function obligations(wrong?: Wrong): readonly Obligation[] {
  const steps = actionsFrom(STATE, wrong)
  const kept = LEMMAS.flatMap((lemma) => steps.map((action) => keeps(lemma, action, wrong)))
  return wrong === undefined ? [...LEMMAS.map(holdsAtFirst), ...kept, follows()] : kept
}

/** Whether a state of the invariant has the step: the formulas must have a model. */
export function enabling(action: Action): readonly string[] {
  const params = Object.entries(action.params)
  return [...declared(params), assert(MARGIN), ...instances(params).map(assert), assert(action.guard)]
}

/** Whether there is a first state, with a replica and a slot. */
export function beginning(): readonly string[] {
  return [
    ...declared([
      ['p', 'Replica'],
      ['s', 'Slot'],
    ]),
    assert(MARGIN),
    assert(isInitial(STATE, ['p'], ['s'])),
  ]
}

function holdsAtFirst(lemma: Lemma): Obligation {
  const vars = variablesOf(lemma)
  const named = namesOf(vars, 'Replica')
  const slots = [...namesOf(vars, 'Slot'), ...slotsOf(vars)]
  const start = isInitial(STATE, named, slots)
  return obligation('Init', lemma, vars, [start, not(lemma.of(STATE, ...lemma.vars))])
}

function follows(): Obligation {
  const vars = variablesOf(S1)
  return obligation('implies', S1, vars, [...instances(vars), not(S1.of(STATE, ...S1.vars))])
}

function keeps(lemma: Lemma, { name, params, guard, next }: Action, wrong: Wrong | undefined): Obligation {
  const vars = [...variablesOf(lemma), ...Object.entries(params)]
  return obligation(name, lemma, vars, [guard, ...instances(vars), not(lemma.of(next, ...lemma.vars))], wrong)
}

function obligation(
  step: string,
  lemma: Lemma,
  vars: readonly (readonly [string, Sort])[],
  formulas: readonly Formula[],
  wrong?: Wrong,
): Obligation {
  const margin = wrong === 'clocks without a margin' ? [] : [assert(MARGIN)]
  const lines = [...declared(vars), ...margin, ...formulas.map(assert)]
  return { step, lemma: lemma.name, formulas: lines }
}

/*
 * The invariant for the replicas, slots and versions that the obligation names. Fewer instances than all make a proof no less sound. They
 * have no quantifiers, so that the solver always decides.
 */
function instances(vars: readonly (readonly [string, Sort])[]): readonly Formula[] {
  const replicas = namesOf(vars, 'Replica')
  const slots = [...namesOf(vars, 'Slot'), ...slotsOf(vars)]
  const bases = replicas.flatMap((p) => namesOf(vars, 'Slot').map((s) => STATE.msg(p, s).base))
  const versions = ['Version', ...namesOf(vars, 'Int'), ...replicas.map((p) => STATE.proc(p).view), ...bases]
  const pools = { p: replicas, s: slots, v: versions }
  return LEMMAS.flatMap((lemma) => {
    const combos = lemma.vars.reduce<readonly (readonly string[])[]>(
      (all, name) => all.flatMap((some) => (pools[name[0] as 'p'] ?? []).map((value) => [...some, value])),
      [[]],
    )
    return combos.map((values) => lemma.of(STATE, ...values))
  })
}

function slotsOf(vars: readonly (readonly [string, Sort])[]): readonly Formula[] {
  return ['Version', ...namesOf(vars, 'Int')].map((v) => STATE.hist(v).srcSlot)
}

function variablesOf(lemma: Lemma): readonly (readonly [string, Sort])[] {
  const sorts: Readonly<Record<string, Sort>> = { p: 'Replica', s: 'Slot', v: 'Int' }
  return lemma.vars.map((name) => [name, sorts[name.slice(0, 1)] ?? 'Int'] as const)
}

function namesOf(vars: readonly (readonly [string, Sort])[], sort: Sort): readonly string[] {
  return vars.filter(([, of]) => of === sort).map(([name]) => name)
}

function declared(vars: readonly (readonly [string, Sort])[]): readonly string[] {
  return vars.map(([name, sort]) => `(declare-const ${name} ${sort})`)
}

const assert = (formula: Formula): string => `(assert ${formula})`
