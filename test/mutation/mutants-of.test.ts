import { describe, expect, test } from 'vitest'
import { describeMutant, withMutant, type Operator } from './mutant.ts'
import { mutantsOf } from './mutants-of.ts'

/** What the mutants of an operator make of a line of code. */
function changed(operator: Operator, code: string): readonly string[] {
  return mutantsOf('code.ts', code)
    .filter((mutant) => mutant.operator === operator)
    .map((mutant) => withMutant(mutant, code))
}

describe('The operators change', () => {
  const cases: readonly (readonly [operator: Operator, code: string, changed: readonly string[]])[] = [
    ['ArithmeticOperator', 'a * (b + c)', ['a / (b + c)', 'a * (b - c)']],
    ['ArithmeticOperator', "a + 'text'", []],
    ['ArrayDeclaration', 'f([a], [])', ['f([], [])', 'f([a], ["Stryker was here"])']],
    ['ArrowFunction', 'f((a) => a)', ['f(() => undefined)']],
    ['ArrowFunction', 'f(() => undefined)', []],
    ['AssignmentOperator', 'a ??= b', ['a &&= b']],
    ['BlockStatement', 'if (a) { b() } else {}', ['if (a) {} else {}']],
    ['BlockStatement', 'class A extends B { constructor() { super(1) } }', []],
    ['BooleanLiteral', 'f(true, !a)', ['f(false, !a)', 'f(true, a)']],
    ['ConditionalExpression', 'if (a) b()', ['if (true) b()', 'if (false) b()']],
    ['ConditionalExpression', 'while (a < b) c()', ['while (false) c()']],
    ['ConditionalExpression', 'f(a === 1 && b)', ['f(true)', 'f(false)', 'f(true && b)']],
    ['ConditionalExpression', 'f((a > 1) || b)', ['f(true)', 'f(false)', 'f((false) || b)']],
    ['ConditionalExpression', 'switch (a) { case b: c(); d() }', ['switch (a) { case b:  }']],
    ['EqualityOperator', 'f(a < b)', ['f(a <= b)', 'f(a >= b)']],
    ['LogicalOperator', 'f(a && b && c)', ['f(a && b || c)', 'f((a || b) && c)']],
    ['LogicalOperator', 'f(a ?? b ?? c)', ['f((a ?? b) && c)', 'f(((a) && b) ?? c)']],
    ['MethodExpression', 'a.filter(b).some(c)', ['a.filter(b).every(c)', 'a.some(c)']],
    ['ObjectLiteral', 'f({ a: {} })', ['f({})']],
    ['OptionalChaining', 'a?.b?.[c]?.(d)', ['a?.b?.[c](d)', 'a?.b[c]?.(d)', 'a.b?.[c]?.(d)']],
    [
      'Regex',
      'f(/^\\d+[^a]$/u)',
      ['\\d+[^a]$', '^\\D+[^a]$', '^\\d[^a]$', '^\\d+[a]$', '^\\d+[^a]'].map((text) => `f(/${text}/u)`),
    ],
    [
      'StringLiteral',
      "f('a', '', `${b}`)",
      ['f("", \'\', `${b}`)', 'f(\'a\', "Stryker was here!", `${b}`)', "f('a', '', ``)"],
    ],
    ['UnaryOperator', 'f(-a)', ['f(+a)']],
    ['UpdateOperator', 'a++; --b', ['a--; --b', 'a++; ++b']],
  ]
  for (const [operator, code, expected] of cases) {
    test(`${operator}: ${code}`, () => {
      expect(changed(operator, code)).toEqual(expected)
    })
  }
})

test('Types, imports and names of properties are left alone', () => {
  const code = "import a from 'a'\ntype B = 'b' | ['c']\nexport const d: Record<'e', B> = a as { 'f': true }"
  expect(mutantsOf('code.ts', code)).toEqual([])
})

test('A mutant knows its line and the text that it changes', () => {
  expect(mutantsOf('code.ts', '\n\nf(true)')).toEqual([
    { file: 'code.ts', line: 3, operator: 'BooleanLiteral', start: 4, end: 8, before: 'true', after: 'false' },
  ])
})

test('A mutant of a long text is described by what differs', () => {
  const [same, rest] = ['a'.repeat(100), 'b'.repeat(100)]
  const [mutant] = mutantsOf('code.ts', `f(/${same}\\d${rest}/)`)
  if (mutant === undefined) throw new Error('Expected a mutant')
  const [left, right] = ['\\d', '\\D'].map((text) => `\`…${'a'.repeat(34)}${text}${'b'.repeat(34)}…\``)
  expect(describeMutant(mutant)).toBe(`code.ts:1 Regex ${left} → ${right}`)
})
