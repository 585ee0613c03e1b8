import { expect, test } from 'vitest'
import { assertKnownKeys, nearestName } from '../../src/options/known-keys.ts'

test('an unknown key is refused with the nearest known one', () => {
  expect(() => assertKnownKeys('`lease`', { leaseDuration: 1 }, ['name', 'leaseDurationMs'])).toThrow(
    'Unknown option `leaseDuration` in `lease`; did you mean `leaseDurationMs`?',
  )
})

test('known keys pass, also when they are set to undefined', () => {
  expect(() => assertKnownKeys('here', { a: 1, b: undefined }, ['a', 'b'])).not.toThrow()
})

test('no name is suggested where none is known', () => {
  expect(() => assertKnownKeys('here', { a: 1 }, [])).toThrow(/^Unknown option `a` in here$/)
})

test('the nearest name is the fewest edits away', () => {
  expect(nearestName('kitten', ['sitting', 'mitten', 'bitter'])).toBe('mitten')
})

test('an option of another place is named with its place, the nearest of all of them', () => {
  const nested = { lease: ['cleanupTimeoutMs'], ops: ['checkTimeoutMs'] }
  expect(() => assertKnownKeys('here', { checkTimeoutMs: 1 }, ['env'], nested)).toThrow(
    'Unknown option `checkTimeoutMs` in here: it belongs in `ops`, as `ops.checkTimeoutMs`',
  )
})
