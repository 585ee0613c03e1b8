import type { Operator } from './mutant.ts'
import type { Node } from './syntax-tree.ts'

/** What an operator makes of a node: the text that takes its place. */
export interface Change {
  readonly operator: Operator
  readonly node: Pick<Node, 'start' | 'end'>
  readonly after: string
}
