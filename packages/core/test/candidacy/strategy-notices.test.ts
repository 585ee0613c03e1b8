import { expect, test } from 'vitest'
import { explainNaming } from '../../src/candidacy/strategy-notices.ts'
import { lease, ME, PureElector } from '../election/pure-elector.ts'

const DECIDES = 'The election controller of the API server decides who leads'

/** What a replica that a coordinator may choose says of a lease. */
function naming({ name = 'OldestEmulationVersion', holder = 'other', preferred = '', known = {} } = {}): string {
  const strategy = { name, version: 1, compare: undefined, binaryVersion: '1.36.0', emulationVersion: '1.35.0' }
  const { record } = lease({ version: 1n, holderIdentity: holder })
  return explainNaming({ ...record, preferredHolder: preferred }, { ...new PureElector().config, strategy }, known)
}

test('a replica that waits for a coordinator says that nobody leads', () => {
  expect(naming({ holder: '' })).toBe(`It waits to be chosen: nobody leads. ${DECIDES}`)
  expect(explainNaming(undefined, new PureElector().config, undefined)).toBe(
    `It waits to be chosen: nobody leads. ${DECIDES}`,
  )
})

test('a replica that waits for a coordinator compares the versions that differ and decide, as the holder published them', () => {
  const known = { binaryVersion: '1.37.0', emulationVersion: '1.34.0' }
  expect(naming()).toBe(`It waits to be chosen: other leads. ${DECIDES}`)
  expect(naming({ known })).toBe(`It waits to be chosen: other leads with 1.34.0, this replica has 1.35.0. ${DECIDES}`)
  expect(naming({ known: { ...known, emulationVersion: '1.35.0' } })).toBe(
    `It waits to be chosen: other leads with 1.37.0, this replica has 1.36.0. ${DECIDES}`,
  )
  expect(naming({ known, name: 'NewestVersion' })).toBe(
    `It waits to be chosen: other leads with 1.37.0, this replica has 1.36.0. ${DECIDES}`,
  )
  expect(naming({ known, name: 'example.com/mine' })).toBe(`It waits to be chosen: other leads. ${DECIDES}`)
})

test('a replica that a coordinator prefers says who is to hand over', () => {
  expect(naming({ preferred: ME })).toBe(
    `It waits to be chosen: other leads. ${DECIDES}, and prefers this replica: other is to hand over`,
  )
})
