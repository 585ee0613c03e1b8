import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { matchesGlob } from 'node:path'
import { expect, test } from 'vitest'
import { THOROUGH } from '../../vitest.config.ts'
import { applyMutant } from '../mutants/apply-mutant.ts'
import { MUTANTS } from '../mutants/find-mutant.ts'
import { documentOf } from '../mutants/mutants-document.ts'
import { TrackRecord } from '../mutants/track-record.ts'

const root = new URL('../../', import.meta.url)

test('every mutant has an id of its own', () => {
  const ids = MUTANTS.map(({ id }) => id)
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([])
})

test('every mutant changes a text that its file has once', async () => {
  const outdated: string[] = []
  for (const mutant of MUTANTS) {
    const code = await readFile(new URL(mutant.file, root), 'utf8')
    try {
      applyMutant(mutant, code)
    } catch (error) {
      outdated.push(String(error))
    }
  }
  expect(outdated).toEqual([])
})

test('the tests that look for a mutant exist, and those of the thorough suite run on a virtual clock', () => {
  const isOnVirtualClock = (file: string): boolean => /packages\/simulator\/|\/fleet\.test\.ts$/.test(file)
  const isOnRealClock = (file: string): boolean =>
    THOROUGH.some((glob) => matchesGlob(file, glob)) && !isOnVirtualClock(file)
  const checks = [...new Set(MUTANTS.flatMap((mutant) => mutant.checks))]
  expect(checks.filter((file) => !existsSync(new URL(file, root)) || isOnRealClock(file))).toEqual([])
})

test('the page of the mutants says what the track record says', async () => {
  expect(await readFile(new URL('docs/mutants.md', root), 'utf8')).toBe(await documentOf(MUTANTS, new TrackRecord()))
})
