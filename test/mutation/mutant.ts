/** A change of one place of a source file, made by one of the operators of Stryker. */
export interface Mutant {
  /** From the root of the project. */
  readonly file: string
  /** Counted from 1. */
  readonly line: number
  /** The name of the operator in Stryker. */
  readonly operator: Operator
  readonly start: number
  readonly end: number
  /** What is there. */
  readonly before: string
  readonly after: string
}

/** The default operators of Stryker. */
export type Operator =
  | 'ArithmeticOperator'
  | 'ArrayDeclaration'
  | 'ArrowFunction'
  | 'AssignmentOperator'
  | 'BlockStatement'
  | 'BooleanLiteral'
  | 'ConditionalExpression'
  | 'EqualityOperator'
  | 'LogicalOperator'
  | 'MethodExpression'
  | 'ObjectLiteral'
  | 'OptionalChaining'
  | 'Regex'
  | 'StringLiteral'
  | 'UnaryOperator'
  | 'UpdateOperator'

/** The text of a file with the change. */
export function withMutant({ start, end, after }: Mutant, source: string): string {
  return source.slice(0, start) + after + source.slice(end)
}

/** The file, the line and the change, on one line. Of long texts, the part around the first difference. */
export function describeMutant({ file, line, operator, before, after }: Mutant): string {
  const texts = [onOneLine(before), onOneLine(after)] as const
  const from = Math.max(0, differenceOf(...texts) - LONGEST / 2)
  const [left, right] = texts.map((text) => shortened(text, from))
  return `${file}:${line} ${operator} ${left} → ${right}`
}

/** Text on one line, however it was broken. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

const LONGEST = 70

/** Where two texts begin to differ. */
function differenceOf(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  return at
}

function shortened(text: string, from: number): string {
  if (text.length <= LONGEST) return `\`${text}\``
  const part = text.slice(from, from + LONGEST)
  return `\`${from > 0 ? '…' : ''}${part}${from + LONGEST < text.length ? '…' : ''}\``
}
