import { describe, expect, test } from 'vitest'
import type { Controller } from '../../src/controller/controller.ts'
import { buildAll, buildNext, createRegistration, type Registration } from '../../src/controller/registration.ts'
import { resolveRestartOptions } from '../../src/controller/restart-options.ts'
import type { ControllerWarmUp } from '../../src/controller/warm-up.ts'
import { OptionsError } from '../../src/options/options-error.ts'

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

  test.each(['', 'with space', '-dash', 'slash/name', 'end ', 'end/'])('must not be called `%s`', (name) => {
    expect(() =>
      buildNext(
        registration(() => controller(name)),
        new WeakSet(),
      ),
    ).toThrow('Expected the `name`')
  })

  test.each(['a', '7', 'A.b_c-1'])('may be called `%s`', (name) => {
    const build = () =>
      buildNext(
        registration(() => controller(name)),
        new WeakSet(),
      )
    expect(build).not.toThrow()
  })

  test('have a name that the error shows beside their class', () => {
    class Janitor implements Controller {
      readonly name = 'the janitor'
      async run(): Promise<void> {}
    }
    expect(() =>
      buildNext(
        registration(() => new Janitor()),
        new WeakSet(),
      ),
    ).toThrow(
      'Expected the `name` of a controller to match ^[A-Za-z0-9][A-Za-z0-9._-]*$, got `the janitor` (string). ' +
        'It is the name of a `Janitor`',
    )
    const nameless = () => Object.assign(Object.create(null), { run: async () => {} }) as Controller
    expect(() => buildNext(registration(nameless), new WeakSet())).toThrow('It is the name of a `undefined`')
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
    ).toThrow(
      'Expected the factory of controller `a` to build a new instance for every run, but it returned the same one ' +
        'again: state of one term would leak into the next',
    )
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

describe('The controllers of a lease, with warm-ups', () => {
  test('are those of the warm-ups, which are not built again', () => {
    const warm = registration(() => controller('unused'))
    const cold = registration(() => controller('b'))
    const warmed = controller('a')
    const warmUp = { controller: warmed, name: 'a' } as ControllerWarmUp
    const builds = buildAll([warm, cold], new WeakSet(), new Map([[warm, warmUp]]))
    expect(builds).toEqual([
      { kind: 'built', registration: warm, controller: warmed, name: 'a', warmUp },
      { kind: 'built', registration: cold, controller: expect.objectContaining({ name: 'b' }), name: 'b' },
    ])
  })

  test('may fail under a name that another one has', () => {
    const broken = registration(() => {
      throw new Error('not now')
    })
    const builds = buildAll([broken, registration(() => controller('controller-1'))], new WeakSet())
    expect(builds.map(({ kind, name }) => [kind, name])).toEqual([
      ['failed', 'controller-1'],
      ['built', 'controller-1'],
    ])
  })

  test('end the start where one can never run', () => {
    const unusable = registration(() => controller('no name'))
    expect(() => buildAll([registration(() => controller('a')), unusable], new WeakSet())).toThrow(OptionsError)
  })
})

describe('The factory of a controller', () => {
  class Janitor {
    readonly name = 'janitor'
    async run(): Promise<void> {}
  }
  class Empty {
    readonly tables = []
  }
  const create = (factory: unknown) => () => createRegistration(factory as never, {}, resolveRestartOptions())
  function Old(): void {}
  Old.prototype.run = () => {}

  test.each<[string, unknown, string]>([
    ['a class', Janitor, 'got the class `Janitor`. Write `register(() => new Janitor())`'],
    ['a class without a method', Empty, 'got the class `Empty`. Write `register(() => new Empty())`'],
    [
      'a class without a name',
      (() => class extends Empty {})(),
      'got the class `MyController`. Write `register(() => new MyController())`',
    ],
    ['a class of an old compiler', Old, 'got the class `Old`. Write `register(() => new Old())`'],
    ['an instance', new Janitor(), '(object). Write `register(() => new Janitor())`'],
    ['an object', { run: () => {} }, '(object). Write `register(() => new MyController())`'],
    ['an object without a class', Object.create(null), '(object). Write `register(() => new MyController())`'],
    ['nothing', undefined, 'got `undefined`. Write `register(() => new MyController())`'],
    ['null', null, 'got `null`. Write `register(() => new MyController())`'],
  ])('must not be %s', (_, factory, end) => {
    const beginning = 'Expected `register()` to be given a function that builds a controller, '
    expect(create(factory)).toThrow(beginning)
    expect(create(factory)).toThrow(end)
  })

  test('may be any other function', () => {
    function classic(): Controller {
      return controller('a')
    }
    expect(create(classic)).not.toThrow()
    expect(create(classic.bind(undefined))).not.toThrow()
    expect(create(async () => {})).not.toThrow()
  })
})

describe('The options of a controller', () => {
  const restart = resolveRestartOptions({ maxRestarts: 1 })
  const factory = () => controller('a')

  test('have defaults, and the restarts of the manager', () => {
    expect(createRegistration(factory, {}, restart)).toEqual({
      factory,
      restart,
      progressTimeoutMs: Infinity,
      warmUp: 'never',
      warmUpTimeoutMs: 5000,
    })
  })

  test('count for this controller alone', () => {
    const options = {
      restart: { maxRestarts: 3 },
      progressTimeoutMs: 1,
      warmUp: 'following',
      warmUpTimeoutMs: 0,
    } as const
    expect(createRegistration(factory, options, restart)).toEqual({
      factory,
      restart: resolveRestartOptions({ maxRestarts: 3 }),
      progressTimeoutMs: 1,
      warmUp: 'following',
      warmUpTimeoutMs: 0,
    })
  })

  test.each([
    [{ progressTimeoutMs: 0 }, 'Expected `progressTimeoutMs` to be a number of milliseconds of at least 1, got `0`'],
    [{ warmUpTimeoutMs: -1 }, 'Expected `warmUpTimeoutMs` to be a number of milliseconds of at least 0, got `-1`'],
    [{ warmUp: 'always' }, 'Expected `warmUp` to be one of never, successor, following, got `always` (string)'],
    [{ restarts: {} }, 'Unknown option `restarts` in `register()`; did you mean `restart`?'],
  ])('%o are refused', (options: object, message) => {
    expect(() => createRegistration(factory, options, restart)).toThrow(message)
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
