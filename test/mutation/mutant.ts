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

/** The file, the line and the change, on one line. */
export function describeMutant({ file, line, operator, before, after }: Mutant): string {
  return `${file}:${line} ${operator} ${shortened(before)} → ${shortened(after)}`
}

/** Text on one line, however it was broken. */
export function onOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}

const LONGEST = 70

function shortened(text: string): string {
  const line = onOneLine(text)
  return line.length <= LONGEST ? `\`${line}\`` : `\`${line.slice(0, LONGEST)}…\``
}
