import { afterEach, describe, expect, test, vi } from 'vitest'
import { DeadlineBoard } from '../../src/watchdog/deadline-board.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.doUnmock('../../src/ports/suspension.ts')
  vi.resetModules()
})

/** A board on a machine that has run for a second, and that was suspended for as long as `aheadMs()` says. */
async function boardOn(aheadMs: (() => number) | undefined): Promise<DeadlineBoard> {
  vi.spyOn(process.hrtime, 'bigint').mockReturnValue(1_000_000_000n)
  vi.resetModules()
  const machineSuspension = aheadMs && { aheadMs }
  vi.doMock('../../src/ports/suspension.ts', () => ({ machineSuspension }))
  const fresh = await import('../../src/watchdog/deadline-board.ts')
  return new fresh.DeadlineBoard(1)
}

describe('The time of a board', () => {
  test('is that of the process where nothing counts suspensions', async () => {
    expect((await boardOn(undefined)).now()).toBe(1_000_000_000n)
  })

  test('goes on with every suspension, also where the boot clock began later', async () => {
    let aheadMs = -2.5
    const board = await boardOn(() => aheadMs)
    expect(board.now()).toBe(997_500_000n)
    aheadMs = 60_000
    expect(board.now()).toBe(61_000_000_000n)
  })

  test('is the same for a thread that has not noticed the suspension', async () => {
    let aheadMs = 60_000
    const board = await boardOn(() => aheadMs)
    board.now()
    aheadMs = 50_000
    expect(board.now()).toBe(61_000_000_000n)
  })

  test.each([
    ['a longer', 70_000_000_000n, 71_000_000_000n],
    ['a shorter', 50_000_000_000n, 61_000_000_000n],
  ])('counts %s suspension that another thread notices at that moment', async (_, otherNs, now) => {
    const board = await boardOn(() => 60_000)
    const { compareExchange } = Atomics
    vi.spyOn(Atomics, 'compareExchange').mockImplementationOnce(((cells: BigInt64Array, index: number) => {
      Atomics.store(cells, index, otherNs)
      return otherNs
    }) as unknown as typeof compareExchange)
    expect(board.now()).toBe(now)
  })
})

describe('The deadlines of a board', () => {
  test('have room for as many as were asked for, in every view', () => {
    const board = new DeadlineBoard(3)
    expect([board.size, new DeadlineBoard(board.memory).size]).toEqual([3, 3])
    for (const index of [0, 1, 2]) expect(board.set(index, BigInt(index + 1))).toBe(0n)
    expect([0, 1, 2].map((index) => board.set(index, 0n))).toEqual([1n, 2n, 3n])
  })

  test('stay as they are in another view, and so does what is known of suspensions', () => {
    const board = new DeadlineBoard(2)
    board.set(1, 7n)
    board.now()
    const before = [...new BigInt64Array(board.memory)]
    expect(new DeadlineBoard(board.memory).earliest()).toEqual({ index: 1, deadline: 7n })
    expect([...new BigInt64Array(board.memory)]).toEqual(before)
  })

  test('have the first as the earliest of two that are equal', () => {
    const board = new DeadlineBoard(3)
    board.set(1, 20n)
    board.set(2, 20n)
    expect(board.earliest()).toEqual({ index: 1, deadline: 20n })
    board.set(0, 21n)
    expect(board.earliest()).toEqual({ index: 1, deadline: 20n })
  })

  test('are claimed once', () => {
    const board = new DeadlineBoard(1)
    board.set(0, 20n)
    expect([board.claim(0, 19n), board.claim(0, 20n), board.claim(0, 20n)]).toEqual([false, true, false])
    expect(board.earliest()).toBeUndefined()
  })
})

describe('The bell of a board', () => {
  test('is heard by all views, and rings for the last time when the board is closed', () => {
    const board = new DeadlineBoard(1)
    const other = new DeadlineBoard(board.memory)
    expect([other.rings, other.isClosed]).toEqual([0n, false])
    board.ring()
    expect([other.rings, other.isClosed]).toEqual([1n, false])
    board.close()
    expect([other.rings, other.isClosed]).toEqual([2n, true])
  })

  test('ends a wait, which otherwise lasts as long as it may', () => {
    const board = new DeadlineBoard(1)
    const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('ok')
    board.wait(4n)
    board.wait(5n, 100)
    expect(wait.mock.calls.map(([, index, rings, timeoutMs]) => [index, rings, timeoutMs])).toEqual([
      [0, 4n, Infinity],
      [0, 5n, 100],
    ])
  })
})
