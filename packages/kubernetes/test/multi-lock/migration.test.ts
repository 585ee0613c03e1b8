import { describe, expect, test } from 'vitest'
import { type Generation, MigratingFleet } from './migrating-fleet.ts'

const RUNS = 12

/** Moves a fleet through the generations and tells what went wrong, run by run. */
async function migrate(generations: readonly Generation[], runs = RUNS) {
  const broken: string[] = []
  const terms: Record<Generation, number> = { old: 0, multi: 0, new: 0 }
  for (let seed = 1; seed <= runs; seed++) {
    const fleet = new MigratingFleet(seed)
    const [first, ...rest] = generations
    if (first !== undefined) await fleet.start(3, first)
    for (const generation of rest) await fleet.roll(generation)
    await fleet.settle()
    if (fleet.leaders.length !== 1) fleet.broken.push(`${fleet.leaders.length} leaders in the end`)
    broken.push(...fleet.broken.map((what) => `seed ${seed}: ${what}`))
    for (const generation of Object.keys(terms) as Generation[]) terms[generation] += fleet.terms[generation]
    for (const replica of fleet.replicas) replica.kill()
  }
  return { broken, terms }
}

describe('A fleet that is moved from one lock to another, replica by replica and under faults', () => {
  test('never has two leaders when it goes by way of both locks, hands out growing epochs, and leads in the end', async () => {
    const { broken, terms } = await migrate(['old', 'multi', 'new'])
    expect(broken).toEqual([])
    for (const generation of ['old', 'multi', 'new'] as const) expect(terms[generation]).toBeGreaterThan(RUNS)
  })

  test('never has two leaders when it goes back the same way', async () => {
    expect((await migrate(['new', 'multi', 'old'])).broken).toEqual([])
  })

  test('never has two leaders when it turns round halfway', async () => {
    expect((await migrate(['old', 'multi', 'old', 'multi', 'new', 'multi'])).broken).toEqual([])
  })

  test('never has two leaders while one of the two leases is deleted now and then, and leads in the end', async () => {
    const broken: string[] = []
    for (let seed = 1; seed <= RUNS; seed++) {
      const fleet = new MigratingFleet(seed)
      await fleet.start(3, 'multi')
      fleet.losesLeases = true
      await fleet.live(600_000)
      await fleet.settle()
      if (fleet.leaders.length !== 1) fleet.broken.push(`${fleet.leaders.length} leaders in the end`)
      broken.push(...fleet.broken.map((what) => `seed ${seed}: ${what}`))
      for (const replica of fleet.replicas) replica.kill()
    }
    expect(broken).toEqual([])
  })

  test('has two leaders when it skips the step with both locks: the test can fail', async () => {
    const { broken } = await migrate(['old', 'new'], RUNS / 3)
    expect(broken.filter((what) => what.includes('was at work'))).not.toEqual([])
  })
})
