import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { findEquivalent, staleEntries, type EquivalentMutant } from './equivalent.ts'
import { mutantsOf } from './mutants-of.ts'

const KNOWN: EquivalentMutant = {
  file: 'code.ts',
  operator: 'BooleanLiteral',
  line: 'f(true, { a: false })',
  before: 'true',
  after: 'false',
  reason: 'the argument is ignored',
}

/** The texts of the mutants of this code that the entry names. */
function named(code: string, file = 'code.ts'): readonly string[] {
  return mutantsOf(file, code)
    .filter((mutant) => findEquivalent(mutant, code, [KNOWN]) === KNOWN)
    .map(({ before }) => before)
}

test('An entry names its mutant wherever the line stands', () => {
  expect(named('f(true, { a: false })')).toEqual(['true'])
  expect(named('g()\n\n    f(true, { a: false })\n')).toEqual(['true'])
})

test('An entry names no mutant of another line or another file', () => {
  expect(named('f(true, { a: true })')).toEqual([])
  expect(named('f(true, { a: false })', 'other.ts')).toEqual([])
})

test('Every entry of the list names a mutant of the sources', () => {
  expect(staleEntries((file) => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8'))).toEqual([])
})
