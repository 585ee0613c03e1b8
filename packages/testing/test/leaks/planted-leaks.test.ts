import { describe, expect, it } from 'vitest'
import { LeakError, type LeakKind, watchForLeaks } from '../../src/leaks/index.ts'
import { LEAK_KINDS } from '../../src/leaks/leak-kind.ts'
import { type Plant, plants } from './plants/index.ts'

const IN_PLANT = /^packages\/testing\/test\/leaks\/plants\/\w+\.ts:\d+:\d+$/
const IN_WATCH = /^packages\/testing\/test\/leaks\/planted-leaks\.test\.ts:\d+:\d+$/

/** Kinds without a plant, and where they are tested. */
const NOT_PLANTED: Partial<Record<LeakKind, string>> = {
  'kept-object': 'tested with `expectCollected()` in watching.test.ts',
}

/** Long enough to see that something stays; what goes by itself goes sooner. */
const GRACE_MS = 60

async function leaksOf(plant: Plant, variant: 'leak' | 'clean') {
  const restore = await plant.prepare?.()
  const leaks = watchForLeaks({ graceMs: variant === 'leak' ? GRACE_MS : 1000 })
  const cleanUp = variant === 'leak' ? await plant.leak() : await plant.clean()
  const error: unknown = await leaks.assertNone().catch((error: unknown) => error)
  if (typeof cleanUp === 'function') await cleanUp()
  await restore?.()
  return error
}

describe('planted leaks', () => {
  it.each(LEAK_KINDS)('have one of the kind %s that shows where it was created', (kind) => {
    const isPlanted = plants.some((plant) => plant.kind === kind && plant.unplaced === undefined)
    expect(isPlanted || kind in NOT_PLANTED).toBe(true)
  })

  it.each(plants)('catches a leaked $name, as $kind, and says where it was created', async (plant) => {
    const error = await leaksOf(plant, 'leak')
    expect(error).toBeInstanceOf(LeakError)
    const { leaks, message } = error as LeakError
    expect(leaks.map(({ kind }) => kind)).toContain(plant.kind)
    const leak = leaks.find(({ kind }) => kind === plant.kind)
    expect(leak?.siteKind).toBe(plant.unplaced === undefined ? (plant.isAssigned ? 'value' : 'creation') : 'watch')
    expect(leak?.site).toMatch(plant.unplaced === undefined ? IN_PLANT : IN_WATCH)
    expect(message).toContain(leak?.site)
    expect(message).toContain(`fix: ${leak?.fix}`)
  })

  it.each(plants)('does not flag the clean twin of a leaked $name', async (plant) => {
    expect(await leaksOf(plant, 'clean')).toBeUndefined()
  })
})
