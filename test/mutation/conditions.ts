import type { Change } from './change.ts'
import { isNode, type Node, type Place } from './syntax-tree.ts'

const LOOPS: ReadonlySet<string> = new Set(['ForStatement', 'WhileStatement', 'DoWhileStatement'])

const CONDITIONS: ReadonlySet<string> = new Set(['IfStatement', 'ConditionalExpression'])

const COMPARISONS: ReadonlySet<unknown> = new Set(['==', '!=', '===', '!==', '<', '<=', '>', '>='])

/** Conditions that always or never hold, and cases of a switch that do nothing. */
export function conditionChanges(place: Place): readonly Change[] {
  const { node } = place
  if (node.type === 'SwitchCase') return caseChanges(node)
  return outcomesOf(place).map((outcome) => ({
    operator: 'ConditionalExpression',
    node,
    after: String(outcome),
  }))
}

/** What takes the place of a condition. An endless loop is not worth a test, nor a branch that its neighbour decides anyway. */
function outcomesOf({ node, parent, field }: Place): readonly boolean[] {
  const above = parent?.node
  if (field === 'test' && above !== undefined && LOOPS.has(above.type)) return [false]
  if (field === 'test' && above !== undefined && CONDITIONS.has(above.type)) return isBoolean(node) ? [] : [true, false]
  if (!isCondition(node)) return []
  if (above?.type === 'LogicalExpression' && above['operator'] === '||') return [false]
  if (above?.type === 'LogicalExpression' && above['operator'] === '&&') return [true]
  return [true, false]
}

function caseChanges(node: Node): readonly Change[] {
  const { consequent } = node
  const statements = Array.isArray(consequent) ? consequent.filter(isNode) : []
  const [first, last] = [statements[0], statements.at(-1)]
  if (first === undefined || last === undefined) return []
  return [{ operator: 'ConditionalExpression', node: { start: first.start, end: last.end }, after: '' }]
}

function isCondition({ type, operator }: Node): boolean {
  if (type === 'LogicalExpression') return operator !== '??'
  return type === 'BinaryExpression' && COMPARISONS.has(operator)
}

/** The other boolean, and a condition without its `!`. */
export function booleanChanges({ node }: Place, text: (node: Node) => string): readonly Change[] {
  if (isBoolean(node)) return [{ operator: 'BooleanLiteral', node, after: String(node['value'] !== true) }]
  const { argument } = node
  if (node.type !== 'UnaryExpression' || node['operator'] !== '!' || !isNode(argument)) return []
  return [{ operator: 'BooleanLiteral', node, after: text(argument) }]
}

function isBoolean(node: Node): boolean {
  return node.type === 'Literal' && typeof node['value'] === 'boolean'
}
