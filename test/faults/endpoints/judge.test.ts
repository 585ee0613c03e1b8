import { describe, expect, it } from 'vitest'
import { absences, emptyMs, lingering } from './judge.ts'

const version = (at: number, ...addresses: string[]) => ({ at, addresses, listed: addresses })
const life = (address: string, from: number, to: number) => ({ address, from, to })

describe('the judge of a slice', () => {
  const versions = [version(0, 'a', 'b'), version(10, 'b'), version(20), version(30, 'a'), version(40, 'a', 'b')]

  it('finds each time in which a living replica was absent, as one', () => {
    expect(absences(versions, [life('a', 0, 50)])).toEqual([{ address: 'a', from: 10, ms: 20 }])
    expect(absences(versions, [life('b', 5, 35)])).toEqual([{ address: 'b', from: 20, ms: 15 }])
  })

  it('does not mind the absence of a replica before it was listed, or after its end was requested', () => {
    expect(absences(versions, [life('a', 0, 10), life('a', 30, 60), life('b', 40, 60)])).toEqual([])
  })

  it('finds a dead replica that is still present, up to now', () => {
    expect(lingering(versions, [{ address: 'b', by: 15 }], 50)).toEqual([
      { address: 'b', from: 15, ms: 5 },
      { address: 'b', from: 40, ms: 10 },
    ])
    expect(lingering(versions, [{ address: 'c', by: 0 }], 50)).toEqual([])
  })

  it('takes an endpoint that is not ready as absent while it lives, and as present when it is dead', () => {
    const draining = [{ at: 0, addresses: [], listed: ['a'] }]
    expect(absences(draining, [life('a', 0, 10)])).toEqual([{ address: 'a', from: 0, ms: 10 }])
    expect(lingering(draining, [{ address: 'a', by: 5 }], 10)).toEqual([{ address: 'a', from: 5, ms: 5 }])
  })

  it('counts the time in which the slice was empty while anybody lived, once', () => {
    expect(emptyMs(versions, [life('a', 0, 50), life('b', 0, 50)])).toBe(10)
    expect(emptyMs(versions, [life('a', 0, 22), life('b', 25, 50)])).toBe(7)
    expect(emptyMs(versions, [])).toBe(0)
  })
})
