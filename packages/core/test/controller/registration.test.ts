import { describe, expect, test } from 'vitest'
import type { Controller } from '../../src/controller/controller.ts'
import { buildAll, buildNext, createRegistration, type Registration } from '../../src/controller/registration.ts'
import { resolveRestartOptions } from '../../src/controller/restart-options.ts'

const controller = (name: string): Controller => ({ name, run: async () => {} })
const registration = (factory: () => Controller): Registration =>
  createRegistration(factory, {}, resolveRestartOptions())

describe('The controllers of a lease', () => {
  test('are built in the order of registration', () => {
    const builds = buildAll(
      ['a', 'b'].map((name) => registration(() => controller(name))),
      new WeakSet(),
    )
    expect(builds).toMatchObject([
      { kind: 'built', controller: { name: 'a' } },
      { kind: 'built', controller: { name: 'b' } },
    ])
  })

  test('must have different names', () => {
    const twice = [registration(() => controller('a')), registration(() => controller('a'))]
    expect(() => buildAll(twice, new WeakSet())).toThrow(
      'Expected the controllers of a lease to have different names, got `a` twice',
    )
  })

  test.each(['', 'with space', '-dash', 'slash/name'])('must not be called `%s`', (name) => {
    expect(() =>
      buildNext(
        registration(() => controller(name)),
        new WeakSet(),
      ),
    ).toThrow('Expected the `name`')
  })

  test.each([undefined, null, 'text', {}])('must be controllers, which `%s` is not', (value) => {
    const factory = () => value as Controller
    expect(() => buildNext(registration(factory), new WeakSet())).toThrow(
      'Expected the factory to return a `Controller`',
    )
  })

  test('must be new ones, also across the runs of different registrations', () => {
    const seen = new WeakSet<Controller>()
    const shared = controller('a')
    buildNext(
      registration(() => shared),
      seen,
    )
    expect(() =>
      buildNext(
        registration(() => shared),
        seen,
      ),
    ).toThrow('state of one term would leak into the next')
  })

  test('whose factory throws are reported as failed and keep the others', () => {
    const broken = registration(() => {
      throw new Error('not now')
    })
    const builds = buildAll([broken, registration(() => controller('b'))], new WeakSet())
    expect(builds).toMatchObject([
      { kind: 'failed', name: 'controller-1', error: new Error('not now') },
      { kind: 'built' },
    ])
  })
})

describe('Restart options', () => {
  test('have defaults', () => {
    expect(resolveRestartOptions()).toEqual({ maxRestarts: 5, withinMs: 60_000, backoffMs: 200 })
  })

  test.each([
    [{ maxRestarts: -1 }, 'Expected `restart.maxRestarts` to be a whole number of at least 0, got `-1`'],
    [{ maxRestarts: 1.5 }, 'Expected `restart.maxRestarts` to be a whole number of at least 0, got `1.5`'],
    [{ withinMs: 0 }, 'Expected `restart.withinMs` to be a number of milliseconds of at least 1, got `0`'],
    [{ backoffMs: -1 }, 'Expected `restart.backoffMs` to be a number of milliseconds of at least 0, got `-1`'],
    [{ maxRestart: 1 }, 'Unknown option `maxRestart` in `restart`; did you mean `maxRestarts`?'],
  ])('%o are refused', (options: object, message) => {
    expect(() => resolveRestartOptions(options)).toThrow(message)
  })
})
