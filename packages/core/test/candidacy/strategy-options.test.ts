import { describe, expect, test } from 'vitest'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import { resolveStrategy } from '../../src/candidacy/strategy-options.ts'
import { OptionsError } from '../../src/options/options-error.ts'

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

describe('The name of a strategy of your own', () => {
  const domain = (length: number): string => `${'a.'.repeat(200).slice(0, length - 1)}a`

  test.each([
    'example.com/mine',
    'apps.example-team.internal/mine',
    'a/b',
    '1a.b-c.2/x',
    'a--b/x',
    'a/A_b.c-9',
    'a/a--b',
    `a/${'x'.repeat(63)}`,
    `${domain(253)}/x`,
  ])('may be %s', (strategy) => {
    expect(resolve({ strategy, compare })?.name).toBe(strategy)
  })

  test.each([
    '',
    'a',
    '/a',
    'a/',
    '-a/b',
    'a-/b',
    'a..b/c',
    '.a/b',
    'a./b',
    'a.-b/c',
    'a.b-/c',
    'A/b',
    'aB/c',
    'a.B/c',
    'a.bC/c',
    'a_b/c',
    'a.b_c/d',
    'a/-b',
    'a/b-',
    'a/_b',
    'a/b_',
    'a/.b',
    'a/b.',
    'a/b/c',
    'a b/c',
    'a/b c',
    'a/b!',
    'a/!b',
    ' a/b',
    'a/b ',
    `a/${'x'.repeat(64)}`,
    `${domain(254)}/x`,
  ])('must not be %j', (strategy) => {
    expect(() => resolve({ strategy, compare })).toThrow(
      'Expected `lease.strategy` to be OldestEmulationVersion, NewestVersion or a name of your own such as `example.com/mine`, got `',
    )
  })
})

describe('The error of a strategy says all of it', () => {
  const built = { strategy: 'OldestEmulationVersion', binaryVersion: '1.36.0' }
  const own = { strategy: 'example.com/mine', compare }
  const NAMES =
    'Expected `lease.strategy` to be OldestEmulationVersion, NewestVersion or a name of your own such as `example.com/mine`, '
  const BUILT_IN =
    "beside `lease.strategy: 'OldestEmulationVersion'`, which is built in. Name a strategy of your own such as `example.com/mine`"
  const ATTRIBUTES =
    'Expected `lease.attributes` to be an object of texts, numbers and booleans of at most 512 characters as JSON, or a function that returns one, got '

  test.each<[object, string]>([
    ...['strategyVersion', 'compare', 'binaryVersion', 'emulationVersion', 'attributes', 'coordination'].map(
      (name): [object, string] => [
        { [name]: 1 },
        `Expected \`lease.strategy\` beside \`lease.${name}\`, which means nothing without it`,
      ],
    ),
    [{ strategy: 'NewestVersio' }, `${NAMES}got \`NewestVersio\` (string). Did you mean \`NewestVersion\`?`],
    [{ strategy: '' }, `${NAMES}got \`\` (string)`],
    [{ strategy: 7 }, `${NAMES}got \`7\` (number)`],
    [{ strategy: '_/a' }, `${NAMES}got \`_/a\` (string)`],
    [{ ...built, compare }, `Expected no \`lease.compare\` ${BUILT_IN}`],
    [{ ...built, strategyVersion: 2 }, `Expected no \`lease.strategyVersion\` ${BUILT_IN}`],
    [{ ...built, compare, strategyVersion: 2 }, `Expected no \`lease.compare\` ${BUILT_IN}`],
    [
      { ...own, compare: undefined },
      'Expected `lease.compare` to be a function of two candidates, since `example.com/mine` is not built in, got `undefined`',
    ],
    ...[0, -1, 1.5, 2 ** 53].map((strategyVersion): [object, string] => [
      { ...own, strategyVersion },
      `Expected \`lease.strategyVersion\` to be a whole number from 1, got \`${strategyVersion}\` (number)`,
    ]),
    [
      { strategy: 'NewestVersion' },
      'Expected `lease.binaryVersion` to be a version such as `1.36.0`, which `NewestVersion` needs, got `undefined`',
    ],
    [
      { ...own, binaryVersion: 'v1' },
      'Expected `lease.binaryVersion` to be a version such as `1.36.0`, got `v1` (string)',
    ],
    [
      { ...built, emulationVersion: 'v1' },
      'Expected `lease.emulationVersion` to be a version such as `1.36.0`, got `v1` (string)',
    ],
    [{ ...own, emulationVersion: '1.0.0' }, 'Expected `lease.binaryVersion` beside `lease.emulationVersion`'],
    [
      { ...built, emulationVersion: '1.36.1' },
      'Expected `lease.emulationVersion` to be at most `lease.binaryVersion`, `1.36.0`, got `1.36.1` (string)',
    ],
    [{ ...own, attributes: 7 }, `${ATTRIBUTES}\`7\` (number)`],
    [
      { ...built, coordination: 'none' },
      'Expected `lease.coordination` to be one of auto, peers, server, got `none` (string)',
    ],
    [
      { ...built, binaryVersion: '0.0.0', coordination: 'server' },
      "Expected `lease.emulationVersion` to be above `0.0.0` beside `lease.coordination: 'server'`, since the API server refuses it, got `0.0.0` (string)",
    ],
    [
      { strategy: 'NewestVersion', binaryVersion: '1.36.0', coordination: 'server' },
      "Expected `lease.strategy: 'OldestEmulationVersion'` beside `lease.coordination: 'server'`, got `NewestVersion`: the API server knows no other strategy",
    ],
  ])('%o', (lease, message) => {
    expect(() => resolve(lease)).toThrow(new OptionsError(message))
  })

  test.each([
    { ...built, emulationVersion: '1.36.0' },
    { ...built, coordination: 'server' },
    { ...built, emulationVersion: '0.0.1', coordination: 'server' },
    { ...built, binaryVersion: '0.0.0', coordination: 'peers' },
    { ...built, attributes: { room: 1 } },
    { ...own, coordination: 'auto', strategyVersion: 1 },
    { ...own, attributes: () => ({ room: 1 }) },
    { ...own, binaryVersion: '1.0.0', emulationVersion: '1.0.0' },
  ])('and nothing of %o', (lease) => {
    expect(resolve(lease)).toBeDefined()
  })
})
