import { describe, expect, test } from 'vitest'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import { resolveStrategy } from '../../src/candidacy/strategy-options.ts'

const resolve = (lease: object) => resolveStrategy({ name: 'lease', ...lease })
const compare = (): number => 0

describe('The strategy of a lease', () => {
  test('is undefined without a strategy', () => {
    expect(resolve({})).toBeUndefined()
  })

  test('has the binary version as its emulation version unless it says otherwise', () => {
    const built = { strategy: 'OldestEmulationVersion', binaryVersion: '1.36.0' }
    expect(resolve(built)).toMatchObject({ name: 'OldestEmulationVersion', emulationVersion: '1.36.0', version: 1 })
    expect(resolve({ ...built, emulationVersion: '1.35.0' })).toMatchObject({ emulationVersion: '1.35.0' })
  })

  test('of your own needs no versions', () => {
    const attributes = { room: 12, disk: 'ssd', spot: false }
    expect(resolve({ strategy: 'example.com/mine', strategyVersion: 2, compare, attributes })).toEqual({
      name: 'example.com/mine',
      version: 2,
      compare,
      binaryVersion: undefined,
      emulationVersion: undefined,
    })
  })

  const built = { strategy: 'OldestEmulationVersion', binaryVersion: '1.36.0' }
  const own = { strategy: 'example.com/mine', compare }
  test.each<[string, object, string]>([
    [
      'options without a strategy',
      { binaryVersion: '1.0.0' },
      'Expected `lease.strategy` beside `lease.binaryVersion`',
    ],
    ['a typo', { strategy: 'OldestEmulationVersions' }, 'Did you mean `OldestEmulationVersion`?'],
    ['a name that is not a text', { strategy: 1 }, 'to be OldestEmulationVersion, NewestVersion or a name of your own'],
    ['a prefix that is no domain', { ...own, strategy: 'Example_/mine' }, 'got `Example_/mine` (string)'],
    ['no name after the slash', { ...own, strategy: 'example.com/' }, 'got `example.com/` (string)'],
    ['no compare', { strategy: 'example.com/mine' }, 'Expected `lease.compare` to be a function of two candidates'],
    ['a compare that is no function', { ...own, compare: 1 }, 'got `1` (number)'],
    ['a compare beside a built-in strategy', { ...built, compare }, 'Expected no `lease.compare` beside'],
    [
      'a version of a built-in strategy',
      { ...built, strategyVersion: 2 },
      'Expected no `lease.strategyVersion` beside',
    ],
    ['a strategy version of 0', { ...own, strategyVersion: 0 }, 'to be a whole number from 1, got `0` (number)'],
    ['a strategy version that is a text', { ...own, strategyVersion: '1' }, 'got `1` (string)'],
    ['no version', { strategy: 'NewestVersion' }, 'Expected `lease.binaryVersion` to be a version such as `1.36.0`'],
    ['a short version', { ...built, binaryVersion: '1.36' }, 'got `1.36` (string)'],
    [
      'a version with a v',
      { ...built, emulationVersion: 'v1.36.0' },
      'Expected `lease.emulationVersion` to be a version',
    ],
    ['a version with a leading zero', { ...built, binaryVersion: '1.036.0' }, 'got `1.036.0` (string)'],
    [
      'an emulation above the binary',
      { ...built, emulationVersion: '1.36.1' },
      'to be at most `lease.binaryVersion`, `1.36.0`',
    ],
    ['an emulation without a binary', { ...own, emulationVersion: '1.36.1' }, 'Expected `lease.binaryVersion` beside'],
    [
      'attributes that are nested',
      { ...own, attributes: { a: {} } },
      'Expected `lease.attributes` to be an object of texts',
    ],
    ['attributes that are not finite', { ...own, attributes: { a: Number.NaN } }, 'Expected `lease.attributes` to be'],
    [
      'attributes that are too long',
      { ...own, attributes: { a: 'x'.repeat(512) } },
      'of at most 512 characters as JSON',
    ],
    ['attributes that are an array', { ...own, attributes: [] }, '(array)'],
    ['an unknown coordination', { ...built, coordination: 'none' }, 'to be one of auto, peers, server'],
    [
      'version zero under a server that refuses it',
      { ...built, emulationVersion: '0.0.0', coordination: 'server' },
      'Expected `lease.emulationVersion` to be above `0.0.0`',
    ],
    ['a server that cannot compare', { ...own, coordination: 'server' }, "beside `lease.coordination: 'server'`"],
  ])('refuses %s', (_, lease, message) => {
    expect(() => resolve(lease)).toThrow(message)
  })

  test('is checked when the manager is made', () => {
    const store = new MemoryLeaseStore()
    const lease = { name: 'lease', strategy: 'NewestVersion', binaryVersion: '1' }
    const make = () => new Manager({ identity: 'a', lease, createLock: ({ name }) => store.lock(name) })
    expect(make).toThrow('Expected `lease.binaryVersion` to be a version such as `1.36.0`, got `1` (string)')
  })
})
