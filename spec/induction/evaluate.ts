import type { Formula } from './formula.ts'

/** A value of a formula: a truth value, a number, or the name of a replica, slot or mode. */
export type Value = boolean | number | string
type Meaning = (...args: readonly Value[]) => Value

/** What the functions and constants of a formula mean. A name without a meaning stands for itself, like a mode. */
export type World = Readonly<Record<string, Meaning | Value>>

/** The world with further names. */
export function withNames(world: World, names: World): World {
  return Object.assign(Object.create(world) as World, names)
}

/** A formula that is ready to be evaluated in many worlds. */
export type Compiled = (world: World) => Value

/** Compiles a formula without quantifiers. @throws Error when it is evaluated with a function that nobody knows. */
export function compile(formula: Formula): Compiled {
  const tokens = formula.match(/[()]|[^\s()]+/g) ?? []
  let at = 0
  const next = (): Compiled => {
    const token = tokens[at++] ?? ''
    if (token !== '(') return atom(token)
    const operator = tokens[at++] ?? ''
    const args: Compiled[] = []
    while (tokens[at] !== ')') args.push(next())
    at += 1
    return call(operator, args)
  }
  return next()
}

function atom(token: string): Compiled {
  if (/^\d/.test(token)) return constant(Number(token))
  if (token === 'true' || token === 'false') return constant(token === 'true')
  return (world) => {
    const meaning = world[token] ?? token
    return typeof meaning === 'function' ? meaning() : meaning
  }
}

const constant =
  (value: Value): Compiled =>
  () =>
    value

function call(operator: string, args: readonly Compiled[]): Compiled {
  const [first = constant(0), second, third = first] = args
  if (operator === 'and') return (world) => args.every((arg) => arg(world))
  if (operator === 'ite') return (world) => ((first(world) ? second : third) ?? first)(world)
  if (operator === '=>') return (world) => !first(world) || (second ?? first)(world)
  const known = OPERATORS[operator]
  return (world) => {
    const meaning = known ?? world[operator]
    if (typeof meaning !== 'function') throw new Error(`Unknown function \`${operator}\``)
    return meaning(...args.map((arg) => arg(world)))
  }
}

const OPERATORS: Readonly<Record<string, Meaning>> = {
  not: (a) => a !== true,
  '=': (a, b) => a === b,
  '<': (a, b) => Number(a) < Number(b),
  '<=': (a, b) => Number(a) <= Number(b),
  '+': (a, b) => Number(a) + Number(b),
  '-': (a, b) => (b === undefined ? -Number(a) : Number(a) - Number(b)),
}
