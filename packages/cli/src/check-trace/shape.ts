import type { TraceHeader, TraceLine } from '@tenure/core/internal'

/*
 * Whether a parsed value is a line of a trace. Only what the checker relies on is tested, because it tests every line.
 */

type Test = (value: unknown) => boolean

/** The keys of an object that are tested, and how. */
type Shape = readonly (readonly [key: string, test: Test])[]

const isNumber: Test = (value) => typeof value === 'number'
const isText: Test = (value) => typeof value === 'string'
const isFlag: Test = (value) => typeof value === 'boolean'
const isVersion: Test = (value) => isNumber(value) || (typeof value === 'string' && /^\d{1,20}$/.test(value))

const optional =
  (test: Test): Test =>
  (value) =>
    value === undefined || test(value)

function fits(value: unknown, shape: Shape): boolean {
  if (typeof value !== 'object' || value === null) return false
  const object = value as Readonly<Record<string, unknown>>
  return shape.every(([key, test]) => test(object[key]))
}

const RECORD: Shape = [
  ['h', isText],
  ['d', optional(isNumber)],
  ['a', optional(isText)],
  ['r', optional(isText)],
  ['n', optional(isNumber)],
  ['e', optional(isVersion)],
  ['x', optional(isText)],
  ['y', optional((value) => Array.isArray(value) && value.length === 2)],
]

const isRecord: Test = (value) => fits(value, RECORD)

const WRITE: Shape = [
  ['q', isNumber],
  ['b', optional(isVersion)],
  ['r', isRecord],
]

/** What every kind of act says. */
const ACTS: ReadonlyMap<unknown, Shape> = new Map<unknown, Shape>([
  ...['acquire', 'renew', 'release', 'transfer', 'answer', 'announce'].map((purpose) => [purpose, WRITE] as const),
  ...['close-gate', 'hard-abort', 'wedged', 'exit', 'stopped', 'identity-taken'].map((kind) => [kind, []] as const),
  ['read', [['q', isNumber]]],
  [
    'begin',
    [
      ['k', isVersion],
      ['until', isNumber],
    ],
  ],
  ['until', [['until', isNumber]]],
  [
    'end',
    [
      ['why', isText],
      ['voluntary', isFlag],
    ],
  ],
  ['over', [['outcome', isText]]],
])

const isAct: Test = (value) => {
  const shape = ACTS.get((value as { readonly u?: unknown } | null | undefined)?.u)
  return shape !== undefined && fits(value, shape)
}

const LINE: Shape = [
  ['p', isNumber],
  ['n', isNumber],
  ['m', isNumber],
  ['j', optional(isNumber)],
  ['t', isNumber],
  ['e', isText],
  ['s', isText],
  ['v', optional(isVersion)],
  ['k', optional(isVersion)],
  ['r', optional(isRecord)],
  ['g', optional(isRecord)],
  ['d', optional((value) => Array.isArray(value) && value.every(isAct))],
]

/** Whether a value is a step of an elector. */
export function isLine(value: unknown): value is TraceLine {
  return fits(value, LINE)
}

const HEADER: Shape = [
  ['elector', isNumber],
  ['format', isNumber],
  ['leaseMs', isNumber],
  ['tolerance', isNumber],
  ['requestMs', isNumber],
  ['acquireDelayMs', isNumber],
  ['machine', isText],
  ['lock', isText],
  ['identity', isText],
  ['missingLease', isText],
  ['onWedged', isText],
  ['wholeSeconds', isFlag],
  ['heldForLife', isFlag],
]

/** Whether a value is the header of an elector. */
export function isHeader(value: unknown): value is TraceHeader {
  return fits(value, HEADER)
}
