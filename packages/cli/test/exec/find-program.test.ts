import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeOfSpawnError, whyNotStartable } from '../../src/exec/find-program.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenure-find-program-'))
  for (const name of ['first', 'second']) mkdirSync(join(folder, name))
  writeFileSync(join(folder, 'first/tool'), '')
  writeFileSync(join(folder, 'second/tool'), '')
  chmodSync(join(folder, 'second/tool'), 0o755)
  mkdirSync(join(folder, 'second/folder'))
})
afterAll(() => rmSync(folder, { recursive: true }))

describe('whyNotStartable()', () => {
  it('finds a program by its path or in the folders of PATH, past files that are not executable', () => {
    expect(whyNotStartable(join(folder, 'second/tool'), '')).toBeUndefined()
    expect(whyNotStartable('tool', `${folder}/first:${folder}/second`)).toBeUndefined()
  })

  it('tells a missing program, 127, from a file that is not executable, 126', () => {
    expect(whyNotStartable('tool', `${folder}/first`)).toBe(126)
    expect(whyNotStartable(join(folder, 'first/tool'))).toBe(126)
    expect(whyNotStartable('other', `${folder}/first:${folder}/second`)).toBe(127)
    expect(whyNotStartable('folder', `${folder}/second`)).toBe(127)
    expect(whyNotStartable(join(folder, 'tool'))).toBe(127)
  })
})

describe('codeOfSpawnError()', () => {
  const failure = (syscall: string, code: string) => Object.assign(new Error(code), { syscall, code })

  it('knows the errors that another attempt does not cure', () => {
    expect(codeOfSpawnError(failure('spawn ./tool', 'ENOENT'))).toBe(127)
    expect(codeOfSpawnError(failure('spawn ./tool', 'EACCES'))).toBe(126)
  })

  it('leaves the others to the restarts', () => {
    expect(codeOfSpawnError(failure('spawn ./tool', 'EAGAIN'))).toBeUndefined()
    expect(codeOfSpawnError(failure('open', 'ENOENT'))).toBeUndefined()
    expect(codeOfSpawnError(new Error('exit code 1'))).toBeUndefined()
  })
})
