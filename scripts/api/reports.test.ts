import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { apiReports } from './reports.ts'

/** The report of a package with these declarations. */
function reportOf(declarations: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'tenure-api-'))
  try {
    const types = join(folder, 'index.d.ts')
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'a', version: '1.0.0', type: 'module' }))
    writeFileSync(types, declarations)
    return [...apiReports([{ specifier: 'a', folder, types }]).values()][0]
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('A report has every exported name with its signature and members', () => {
  const report = reportOf(`
export declare function act(options: Options): void;
export interface Options {
  readonly a?: string;
}`)
  expect(report).toContain('# API of `a`')
  expect(report).toContain('export function act(options: Options): void;')
  expect(report).toContain('    readonly a?: string;')
})

test('A report has the types that a signature mentions and no entry exports', () => {
  const report = reportOf(`
interface Hidden {
  b: number;
}
export declare function act(): Hidden;
export {};`)
  expect(report).toMatch(/^interface Hidden \{\n {4}b: number;/m)
})

test('A report is the same with and without comments', () => {
  const source = (comment: string) => `${comment}export interface A {\n  ${comment}b: number;\n}`
  expect(reportOf(source('/** One. */\n'))).toBe(reportOf(source('')))
})

test('An entry point that does not exist is refused', () => {
  const entry = { specifier: 'a', folder: '/nowhere', types: '/nowhere/index.d.ts' }
  expect(() => apiReports([entry])).toThrow(/nowhere/)
})
