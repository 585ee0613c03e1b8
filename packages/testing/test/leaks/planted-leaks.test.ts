import { describe, expect, it } from 'vitest'
import { LeakError, watchForLeaks } from '../../src/leaks/index.ts'
import { type Plant, plants } from './plants/index.ts'

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
  it.each(plants)('catches a leaked $name, as $kind, and says where it was created', async (plant) => {
    const error = await leaksOf(plant, 'leak')
    expect(error).toBeInstanceOf(LeakError)
    const { leaks, message } = error as LeakError
    expect(leaks.map(({ kind }) => kind)).toContain(plant.kind)
    const leak = leaks.find(({ kind }) => kind === plant.kind)
    if (plant.isUnplaced === true) expect(leak?.detail).toMatch(/^`.+`$/)
    else expect(leak?.site).toMatch(/packages\/testing\/test\/leaks\/plants\/\w+\.ts:\d+:\d+$/)
    expect(message).toContain(leak?.site)
    expect(message).toContain(`fix: ${leak?.fix}`)
  })

  it.each(plants)('does not flag the clean twin of a leaked $name', async (plant) => {
    expect(await leaksOf(plant, 'clean')).toBeUndefined()
  })
})
