import { describe, expect, test } from 'vitest'
import { HealthRegistry } from '../../src/health/health-registry.ts'
import { OptionsError } from '../../src/options/options-error.ts'

describe('HealthRegistry', () => {
  test('reports every check in the order of registration, with the reason where one fails', async () => {
    const registry = new HealthRegistry()
    registry.register('ok', () => {})
    registry.register('sync', () => {
      throw new Error('stale cache')
    })
    registry.register('async', () => Promise.reject(new Error('no database')))
    expect(await registry.run()).toEqual([
      { name: 'ok' },
      { name: 'sync', failure: new Error('stale cache') },
      { name: 'async', failure: new Error('no database') },
    ])
  })

  test('makes an error of whatever else a check throws', async () => {
    const registry = new HealthRegistry()
    // oxlint-disable-next-line no-throw-literal, typescript/only-throw-error, typescript/prefer-promise-reject-errors -- that is what is tested
    registry.register('text', () => Promise.reject('just text'))
    expect(await registry.run()).toEqual([{ name: 'text', failure: new Error('just text') }])
  })

  test('does not run what is excluded', async () => {
    const registry = new HealthRegistry()
    let runs = 0
    registry.register('a', () => void (runs += 1))
    registry.register('b', () => {})
    expect(await registry.run(new Set(['a']))).toEqual([{ name: 'b' }])
    expect(runs).toBe(0)
  })

  test('runs all checks each time', async () => {
    const registry = new HealthRegistry()
    let isBroken = true
    registry.register('flaky', () => {
      if (isBroken) throw new Error('broken')
    })
    expect((await registry.run())[0]?.failure).toBeDefined()
    isBroken = false
    expect((await registry.run())[0]?.failure).toBeUndefined()
  })

  test('takes a check out again, and only that one', () => {
    const registry = new HealthRegistry()
    const remove = registry.register('a', () => {})
    remove()
    registry.register('a', () => {})
    remove()
    expect(registry.names).toEqual(['a'])
  })

  test('that is closed has no check, and takes none', () => {
    const registry = new HealthRegistry()
    registry.register('a', () => {})
    registry.close(new OptionsError('over'))
    expect(registry.names).toEqual([])
    expect(() => registry.register('b', () => {})).toThrow('over')
  })

  test.each(['', 'a/b', 'with space', '.hidden', 'ä', 'end ', 7])(
    'refuses the name `%s`, which is no path segment',
    (name) => {
      const refuse = () => new HealthRegistry().register(name as string, () => {})
      expect(refuse).toThrow(OptionsError)
      expect(refuse).toThrow('Expected the name of a health check to be a path segment such as `cache-synced`, got `')
    },
  )

  test.each(['a', '7', 'A.b_c-1'])('takes the name `%s`', (name) => {
    const registry = new HealthRegistry()
    registry.register(name, () => {})
    expect(registry.names).toEqual([name])
  })

  test('refuses a check that is no function', () => {
    expect(() => new HealthRegistry().register('a', 7 as never)).toThrow(
      'Expected the health check `a` to be a function, got `7` (number)',
    )
  })

  test('stays closed with the first error', () => {
    const registry = new HealthRegistry()
    registry.close(new OptionsError('first'))
    registry.close(new OptionsError('second'))
    expect(() => registry.register('a', () => {})).toThrow('first')
  })

  test('refuses a name that is taken', () => {
    const registry = new HealthRegistry()
    registry.register('a', () => {})
    expect(() => registry.register('a', () => {})).toThrow(
      'Expected the name of a health check to be unique, got `a` twice',
    )
  })
})
