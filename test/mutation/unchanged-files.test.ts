import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { UnchangedFiles } from './unchanged-files.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-unchanged-'))
  for (const name of ['a.ts', 'b.ts', 'notes.txt']) writeFileSync(join(folder, name), name)
})
afterEach(() => rmSync(folder, { recursive: true }))

test.each<[string, string, () => void]>([
  ['was written', 'b.ts', () => utimesSync(join(folder, 'b.ts'), 1, 1)],
  ['is gone', 'a.ts', () => rmSync(join(folder, 'a.ts'))],
])('A run ends when a file %s while it judges mutants', (_, name, change) => {
  const files = new UnchangedFiles(folder, '*.ts')
  files.assert()
  change()
  expect(() => files.assert()).toThrow(`${name} has changed during the run`)
})

test('A run goes on when a file changes that no test reads', () => {
  const files = new UnchangedFiles(folder, '*.ts')
  utimesSync(join(folder, 'notes.txt'), 1, 1)
  expect(() => files.assert()).not.toThrow()
})
