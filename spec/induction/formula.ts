/** A formula or value in SMT-LIB. */
export type Formula = string

export const TRUE = 'true'
export const FALSE = 'false'

export function and(...parts: readonly Formula[]): Formula {
  if (parts.includes(FALSE)) return FALSE
  const kept = parts.filter((part) => part !== TRUE)
  return kept.length === 0 ? TRUE : kept.length === 1 ? (kept[0] ?? TRUE) : `(and ${kept.join(' ')})`
}

export function or(...parts: readonly Formula[]): Formula {
  return not(and(...parts.map(not)))
}

export function not(part: Formula): Formula {
  if (part === TRUE) return FALSE
  return part === FALSE ? TRUE : `(not ${part})`
}

export function implies(given: Formula, then: Formula): Formula {
  return given === TRUE ? then : `(=> ${given} ${then})`
}

export function eq(left: Formula, right: Formula): Formula {
  return left === right ? TRUE : `(= ${left} ${right})`
}

export function ite(test: Formula, then: Formula, otherwise: Formula): Formula {
  if (test === TRUE || then === otherwise) return then
  return test === FALSE ? otherwise : `(ite ${test} ${then} ${otherwise})`
}

export function less(left: Formula, right: Formula): Formula {
  return `(< ${left} ${right})`
}

export function atMost(left: Formula, right: Formula): Formula {
  return `(<= ${left} ${right})`
}

export function plus(left: Formula, right: Formula): Formula {
  return `(+ ${left} ${right})`
}

/** What is left of a timer after it has lost an amount. */
export function lessened(timer: Formula, loss: Formula): Formula {
  return ite(less(timer, loss), '0.0', `(- ${timer} ${loss})`)
}

export function isOneOf(value: Formula, names: readonly Formula[]): Formula {
  return or(...names.map((name) => eq(value, name)))
}

/** Chooses between two records of formulas, field by field. */
export function choose<T extends Readonly<Record<string, Formula>>>(test: Formula, then: T, otherwise: T): T {
  const fields = Object.keys(then).map((name) => [name, ite(test, then[name] ?? '', otherwise[name] ?? '')])
  return Object.fromEntries(fields) as T
}
