import type { Change } from './change.ts'
import type { Operator } from './mutant.ts'
import { booleanChanges, conditionChanges } from './conditions.ts'
import { regexChanges } from './regex.ts'
import { isNode, type Node, type Place } from './syntax-tree.ts'
import { stringChanges } from './strings.ts'

/** All changes of one node by the default operators of Stryker. */
export function changesOf(place: Place, source: string): readonly Change[] {
  const text = (node: Pick<Node, 'start' | 'end'>): string => source.slice(node.start, node.end)
  return [
    ...(OPERATORS[place.node.type]?.(place, text) ?? []),
    ...conditionChanges(place),
    ...booleanChanges(place, text),
    ...stringChanges(place),
  ]
}

type Text = (node: Pick<Node, 'start' | 'end'>) => string

const ARITHMETIC: Readonly<Record<string, string>> = { '+': '-', '-': '+', '*': '/', '/': '*', '%': '*' }

const EQUALITY: Readonly<Record<string, readonly string[]>> = {
  '<': ['<=', '>='],
  '<=': ['<', '>'],
  '>': ['>=', '<='],
  '>=': ['>', '<'],
  '==': ['!='],
  '!=': ['=='],
  '===': ['!=='],
  '!==': ['==='],
}

const LOGICAL: Readonly<Record<string, string>> = { '&&': '||', '||': '&&', '??': '&&' }

const ASSIGNMENT: Readonly<Record<string, string>> = {
  '+=': '-=',
  '-=': '+=',
  '*=': '/=',
  '/=': '*=',
  '%=': '*=',
  '<<=': '>>=',
  '>>=': '<<=',
  '&=': '|=',
  '|=': '&=',
  '&&=': '||=',
  '||=': '&&=',
  '??=': '&&=',
}

/** The method that takes the place of another. Undefined where the call is left out. */
const METHODS: ReadonlyMap<string, string | undefined> = new Map([
  ['charAt', undefined],
  ['endsWith', 'startsWith'],
  ['startsWith', 'endsWith'],
  ['every', 'some'],
  ['some', 'every'],
  ['filter', undefined],
  ['reverse', undefined],
  ['slice', undefined],
  ['sort', undefined],
  ['substr', undefined],
  ['substring', undefined],
  ['toLocaleLowerCase', 'toLocaleUpperCase'],
  ['toLocaleUpperCase', 'toLocaleLowerCase'],
  ['toLowerCase', 'toUpperCase'],
  ['toUpperCase', 'toLowerCase'],
  ['trim', undefined],
  ['trimEnd', 'trimStart'],
  ['trimStart', 'trimEnd'],
  ['min', 'max'],
  ['max', 'min'],
])

const OPERATORS: Readonly<Record<string, (place: Place, text: Text) => readonly Change[]>> = {
  BinaryExpression: ({ node }, text) => [
    ...replaced('EqualityOperator', node, text, EQUALITY[String(node['operator'])] ?? []),
    ...(isText(node['left']) || isText(node['right'])
      ? []
      : replaced('ArithmeticOperator', node, text, [ARITHMETIC[String(node['operator'])] ?? []].flat())),
  ],
  LogicalExpression: ({ node, parent }, text) => {
    // What binds less tightly than before needs parentheses.
    const isOperand = parent?.node.type === 'LogicalExpression'
    return replaced('LogicalOperator', node, text, [LOGICAL[String(node['operator'])] ?? []].flat()).map((change) =>
      isOperand ? { ...change, after: `(${change.after})` } : change,
    )
  },
  AssignmentExpression: ({ node }, text) =>
    isText(node['right'])
      ? []
      : replaced('AssignmentOperator', node, text, [ASSIGNMENT[String(node['operator'])] ?? []].flat()),
  ArrayExpression: ({ node }) => [
    { operator: 'ArrayDeclaration', node, after: isEmpty(node['elements']) ? '["Stryker was here"]' : '[]' },
  ],
  NewExpression: ({ node }, text) => {
    const callee = childOf(node, 'callee')
    if (text(callee) !== 'Array' || isEmpty(node['arguments'])) return []
    return [{ operator: 'ArrayDeclaration', node, after: 'new Array()' }]
  },
  ArrowFunctionExpression: ({ node }, text) => {
    const body = childOf(node, 'body')
    if (body.type === 'BlockStatement' || text(body) === 'undefined') return []
    return [{ operator: 'ArrowFunction', node, after: '() => undefined' }]
  },
  // A constructor of a subclass cannot do without its call of `super()`.
  BlockStatement: ({ node }, text) =>
    isEmpty(node['body']) || /\bsuper\(/.test(text(node)) ? [] : [{ operator: 'BlockStatement', node, after: '{}' }],
  ObjectExpression: ({ node }) =>
    isEmpty(node['properties']) ? [] : [{ operator: 'ObjectLiteral', node, after: '{}' }],
  CallExpression: ({ node }, text) => [...methodChanges(node, text), ...optionalChanges(node, 'callee', text)],
  MemberExpression: ({ node }, text) => optionalChanges(node, 'object', text),
  UnaryExpression: ({ node }, text) => {
    const argument = text(childOf(node, 'argument'))
    const after = { '+': `-${argument}`, '-': `+${argument}`, '~': argument }[String(node['operator'])]
    return after === undefined ? [] : [{ operator: 'UnaryOperator', node, after }]
  },
  UpdateExpression: ({ node }, text) => {
    const after = text(node).replace(/\+\+|--/, (sign) => (sign === '++' ? '--' : '++'))
    return [{ operator: 'UpdateOperator', node, after }]
  },
  Literal: ({ node }, text) =>
    node['regex'] === undefined
      ? []
      : regexChanges(text(node)).map((after) => ({ operator: 'Regex' as const, node, after })),
}

/** The expression with other operators. */
function replaced(operator: Operator, node: Node, text: Text, signs: readonly string[]): readonly Change[] {
  const { end } = childOf(node, 'left')
  const { start } = childOf(node, 'right')
  const between = { start: end, end: start }
  const own = String(node['operator'])
  return signs.map((sign) => {
    const at = between.start + text(between).indexOf(own)
    const left = text({ start: node.start, end: at })
    // `??` cannot be mixed with the other logical operators.
    const after =
      (own === '??' ? `(${left.trimEnd()}) ` : left) + sign + text({ start: at + own.length, end: node.end })
    return { operator, node, after }
  })
}

function methodChanges(node: Node, text: Text): readonly Change[] {
  const callee = childOf(node, 'callee')
  if (callee.type !== 'MemberExpression' || callee['computed'] === true) return []
  const object = childOf(callee, 'object')
  const method = childOf(callee, 'property')
  const name = text(method)
  if (!METHODS.has(name)) return []
  const other = METHODS.get(name)
  const after =
    other === undefined
      ? text(object)
      : text({ start: node.start, end: method.start }) + other + text({ start: method.end, end: node.end })
  return [{ operator: 'MethodExpression', node, after }]
}

/** The same without the question mark of an optional member or call. */
function optionalChanges(node: Node, field: string, text: Text): readonly Change[] {
  if (node['optional'] !== true) return []
  const head = childOf(node, field)
  const rest = text({ start: head.end, end: node.end })
  const isDotted = node.type === 'MemberExpression' && node['computed'] !== true
  const after = text(head) + rest.replace('?.', isDotted ? '.' : '')
  return [{ operator: 'OptionalChaining', node, after }]
}

function childOf(node: Node, field: string): Node {
  const child = node[field]
  if (!isNode(child)) throw new Error(`Expected \`${field}\` of a ${node.type} to be a node, got ${String(child)}`)
  return child
}

function isEmpty(list: unknown): boolean {
  return !Array.isArray(list) || list.length === 0
}

function isText(node: unknown): boolean {
  return isNode(node) && (node.type === 'TemplateLiteral' || typeof node['value'] === 'string')
}
