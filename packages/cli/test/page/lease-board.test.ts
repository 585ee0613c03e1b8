import { VirtualClock } from '@tenure/testing/virtual-clock'
import { expect, test } from 'vitest'
import { type BoardNews, LeaseBoard } from '../../src/page/lease-board.ts'

const HELD = { leaseDurationSeconds: 3, acquireTime: 't1', renewTime: 'r1' }

/** A board, and the means to show it a state of the lease at a second. */
function boardOf() {
  const clock = new VirtualClock()
  const board = new LeaseBoard({ clock })
  const news: BoardNews[] = []
  board.subscribe((each) => void news.push(each))
  const see = (second: number, spec?: Readonly<Record<string, unknown>>): void => {
    const metadata = { namespace: 'ops', name: 'janitor', resourceVersion: String(100 + second) }
    board.take({
      at: new Date(second * 1000).toISOString(),
      lease: 'ops/janitor',
      ...(spec && { object: { metadata, spec } }),
    })
  }
  return { clock, board, news, see, bands: () => board.leases[0]?.bands }
}

test('a release and an acquisition are two terms with a gap', () => {
  const { see, bands } = boardOf()
  see(1, { ...HELD, holderIdentity: 'a' })
  see(2, { holderIdentity: '' })
  see(3, { ...HELD, holderIdentity: 'b' })
  expect(bands()).toEqual([
    { holder: 'a', from: 1000, isFromSeen: false, to: 2000, end: 'released' },
    { holder: 'b', epoch: '103', from: 3000, isFromSeen: true },
  ])
})

test('a term that was taken over lasted until its validity ended', () => {
  const { see, bands } = boardOf()
  see(1, { ...HELD, holderIdentity: 'a' })
  see(2, { ...HELD, holderIdentity: 'a', renewTime: 'r2' })
  see(9, { ...HELD, holderIdentity: 'b', acquireTime: 't2' })
  expect(bands()?.[0]).toEqual({ holder: 'a', from: 1000, isFromSeen: false, to: 5000, end: 'lost', renewedAt: 2000 })
})

test('a deleted lease stays on the board without a leader', () => {
  const { see, board } = boardOf()
  see(1, { ...HELD, holderIdentity: 'a' })
  see(2)
  expect(board.leases[0]).toMatchObject({ holder: '', bands: [{ to: 2000, end: 'deleted' }] })
})

test('renewals are sent as such, and changes together with what changed at once', async () => {
  const { clock, see, news } = boardOf()
  see(1, { ...HELD, holderIdentity: 'a' })
  await clock.advance(20)
  see(2, { ...HELD, holderIdentity: 'a', renewTime: 'r2' })
  await clock.advance(20)
  see(3, { ...HELD, holderIdentity: 'a', renewTime: 'r3' })
  see(4, { holderIdentity: '' })
  await clock.advance(20)
  expect(news.map(({ leases, renewals }) => [leases.map(({ holder }) => holder), renewals])).toEqual([
    [['a'], []],
    [[], [{ key: 'ops/janitor', renewedAt: 2000 }]],
    [[''], []],
  ])
})

test('the board keeps the latest 500 terms of a lease', () => {
  const { see, bands } = boardOf()
  for (let second = 0; second < 1200; second += 2) {
    see(second, { ...HELD, holderIdentity: `replica-${second}` })
    see(second + 1, { holderIdentity: '' })
  }
  expect(bands()).toHaveLength(500)
  expect(bands()?.at(-1)?.holder).toBe('replica-1198')
})
