import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { explore } from './explore.ts'
import { exploreInFiles } from './explore-in-files.ts'
import { SCOPES } from './scopes.ts'

const SCOPE = SCOPES.find(({ scope }) => scope.faults === 2 && scope.canShorten !== true)?.scope
if (SCOPE === undefined) throw new Error('There is no scope with two faults')
const WANTED = { scope: SCOPE, states: 12_000 }
/** A hash of the sources. */
const sources = 'a'

let folder: string
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'tenure-explore-'))))
afterEach(() => rmSync(folder, { recursive: true }))

test('An exploration in files visits the same worlds as one in memory', () => {
  expect(exploreInFiles({ ...WANTED, folder, sources })).toEqual(explore(WANTED))
})

test('An exploration that is interrupted after any file continues, and visits the same worlds', () => {
  const whole = explore(WANTED)
  class Interrupted extends Error {}
  let isWhole = false
  for (let runs = 0; !isWhole; runs++) {
    let files = 0
    const onProgress = (): void => {
      if (++files > 2) throw new Interrupted()
    }
    try {
      expect(exploreInFiles({ ...WANTED, folder, sources, onProgress })).toEqual(whole)
      isWhole = true
      expect(runs).toBeGreaterThan(2)
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error
    }
  }
})

test('An exploration that has visited all that it should goes on when more is wanted', () => {
  exploreInFiles({ ...WANTED, states: 4000, folder, sources })
  expect(exploreInFiles({ ...WANTED, folder, sources })).toEqual(explore(WANTED))
})

test('An exploration does not go on with the worlds of other sources', () => {
  exploreInFiles({ ...WANTED, states: 4000, folder, sources })
  expect(() => exploreInFiles({ ...WANTED, folder, sources: 'b' })).toThrow(
    /checkpoint\.json to have results of this run.*delete it/,
  )
})
