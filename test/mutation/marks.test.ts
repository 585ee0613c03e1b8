import { stripTypeScriptTypes } from 'node:module'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { functionAt, withMarks } from './marks.ts'
import { REACHED } from './reached.ts'

const CODE = `
const twice = (value: number): number => 2 * value
const boxed = (value: number) => ({ value })
class Counter {
  #count: number = 0
  add(): number { return boxed(twice(this.#count += 1)).value }
  never(): number { return 0 }
}
`

/** The functions that a program on top of the code runs, and what it returns. */
function run(program: string): { readonly value: unknown; readonly reached: ReadonlySet<string> } {
  const reached = new Set<string>()
  const marked = stripTypeScriptTypes(withMarks('code.ts', CODE))
  const value: unknown = runInNewContext(`${marked}${program}`, { [REACHED]: reached })
  return { value, reached }
}

/** The name of the innermost function around a text. */
function functionAround(text: string): string {
  const start = CODE.indexOf(text)
  return functionAt('code.ts', CODE, { start, end: start + text.length })
}

test('Marked code does what it did, and notes the functions that ran', () => {
  const { value, reached } = run('new Counter().add()')
  expect(value).toBe(2)
  for (const text of ['2 * value', '{ value }', 'this.#count += 1']) expect(reached).toContain(functionAround(text))
  expect(reached).not.toContain(functionAround('return 0'))
})

test('Code outside of functions has run when the file was loaded', () => {
  const { reached } = run('')
  expect([...reached]).toEqual([functionAround('number = 0')])
})
