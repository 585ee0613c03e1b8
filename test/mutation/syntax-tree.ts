import { parseSync, visitorKeys } from 'oxc-parser'

/** A node of the syntax tree, as ESTree names its fields. */
export interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [field: string]: unknown
}

/** A node, and where in the tree it is. Parentheses are no nodes. */
export interface Place {
  readonly node: Node
  /** Undefined for the whole program. */
  readonly parent: Place | undefined
  /** The field of the parent that holds the node. */
  readonly field: string
}

/** All nodes of a file that have an effect when it runs: types are left out. @throws Error if the file cannot be parsed */
export function placesOf(file: string, source: string): readonly Place[] {
  const { program, errors } = parseSync(file, source)
  if (errors.length > 0) throw new Error(`Could not parse ${file}: ${errors[0]?.message}`)
  const places: Place[] = []
  addPlaces({ node: program as unknown as Node, parent: undefined, field: '' }, places)
  return places
}

/** Whether a value is a node. */
export function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && typeof (value as { readonly type?: unknown }).type === 'string'
}

/** Syntax of TypeScript that holds an expression. All other that begins so is erased. */
const WITH_EXPRESSION: ReadonlySet<string> = new Set([
  'TSAsExpression',
  'TSNonNullExpression',
  'TSSatisfiesExpression',
  'TSInstantiationExpression',
])

function addPlaces(place: Place, places: Place[]): void {
  const { node } = place
  if (node.type.startsWith('TS') && !WITH_EXPRESSION.has(node.type)) return
  const isParenthesis = node.type === 'ParenthesizedExpression'
  if (!isParenthesis) places.push(place)
  for (const field of visitorKeys[node.type] ?? []) {
    for (const child of [node[field]].flat()) {
      if (isNode(child))
        addPlaces(isParenthesis ? { ...place, node: child } : { node: child, parent: place, field }, places)
    }
  }
}
