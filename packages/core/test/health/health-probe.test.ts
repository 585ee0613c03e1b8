import { describe, expect, test } from 'vitest'
import { HealthProbe } from '../../src/health/health-probe.ts'
import { HealthRegistry } from '../../src/health/health-registry.ts'

function registry(...names: readonly string[]): HealthRegistry {
  const registry = new HealthRegistry()
  for (const name of names) registry.register(name, () => {})
  return registry
}

describe('HealthProbe', () => {
  test('serves the checks of all its sources under their prefixes, also those of other probes', async () => {
    const inner = new HealthProbe()
    inner.add(registry('cache'), 'janitor.')
    const probe = new HealthProbe()
    probe.add(registry('ping'))
    probe.add(inner, 'lease.')
    expect(probe.names).toEqual(['ping', 'lease.janitor.cache'])
    expect(await probe.run()).toEqual([{ name: 'ping' }, { name: 'lease.janitor.cache' }])
  })

  test('serves what is there at the moment of the request', async () => {
    const probe = new HealthProbe()
    const source = registry('early')
    const remove = probe.add(source)
    source.register('late', () => {})
    expect(probe.names).toEqual(['early', 'late'])
    remove()
    expect(await probe.run()).toEqual([])
  })

  test('leaves out what is excluded by its full name', async () => {
    const probe = new HealthProbe()
    probe.add(registry('a', 'b'), 'x.')
    probe.add(registry('a'), 'y.')
    expect(await probe.run(new Set(['x.a']))).toEqual([{ name: 'x.b' }, { name: 'y.a' }])
  })

  test('runs one check by its full name, and knows when there is none', async () => {
    const probe = new HealthProbe()
    const source = registry('good')
    source.register('bad', () => {
      throw new Error('why')
    })
    probe.add(source, 'x.')
    expect(await probe.runOne('x.bad')).toEqual({ name: 'x.bad', failure: new Error('why') })
    expect(await probe.runOne('x.good')).toEqual({ name: 'x.good' })
    expect(await probe.runOne('bad')).toBeUndefined()
  })
})
