import { parseSync, Visitor } from 'oxc-parser'

/** A function of a source file. */
export interface SourceFunction {
  readonly line: number
  /** Lines from its first to its last. */
  readonly lines: number
}

/** Lists the functions of a file that have a name: declarations, methods, and functions that a variable or property holds. */
export function functionsOf(file: string, source: string): readonly SourceFunction[] {
  const found: SourceFunction[] = []
  const lineAt = (offset: number): number => source.slice(0, offset).split('\n').length
  const add = (node: Span): void => {
    const line = lineAt(node.start)
    found.push({ line, lines: lineAt(node.end) - line + 1 })
  }
  const addHeld = (held: Held | null): void => {
    if (held !== null && HELD.has(held.type)) add(held)
  }
  new Visitor({
    FunctionDeclaration: add,
    MethodDefinition: add,
    VariableDeclarator: ({ init }) => addHeld(init),
    PropertyDefinition: ({ value }) => addHeld(value),
    Property: ({ value }) => addHeld(value),
  }).visit(parseSync(file, source).program)
  return found
}

interface Span {
  readonly start: number
  readonly end: number
}

interface Held extends Span {
  readonly type: string
}

const HELD: ReadonlySet<string> = new Set(['ArrowFunctionExpression', 'FunctionExpression'])
