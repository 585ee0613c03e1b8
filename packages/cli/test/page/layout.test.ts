import { describe, expect, test } from 'vitest'
import { clockText, durationText, partsOf, scaleOf, ticksOf, xOf } from '../../page/layout.js'
import { withLatest } from '../../page/model.js'

const SCALE = { start: 0, end: 1000, width: 100, now: 900 }

const LEASE = {
  key: 'ops/janitor',
  holder: 'b',
  standbys: [],
  renewedAt: 880,
  durationMs: 100,
  isEnding: false,
  bands: [],
  note: '',
}

/** What is drawn for these bands: the kind, where it begins, and how wide it is. */
function drawn(bands: Parameters<typeof partsOf>[0]['bands'], lease: object = {}) {
  return partsOf({ ...LEASE, ...lease, bands }, SCALE).map(({ kind, x, width }) => [kind, x, Math.round(width)])
}

const seen = { isFromSeen: true }

describe('the layout of a lease', () => {
  test('is to scale: terms, the gap between them, and the validity after now', () => {
    expect(
      drawn([
        { holder: 'a', from: 100, to: 300, end: 'released', ...seen },
        { holder: 'b', from: 340, ...seen },
      ]),
    ).toEqual([
      ['term', 10, 20],
      ['gap', 30, 4],
      ['term', 34, 56],
      ['valid', 90, 8],
    ])
  })

  test('frames the time in which two terms overlap, over both', () => {
    expect(
      drawn(
        [
          { holder: 'a', from: 100, to: 300, end: 'lost', ...seen },
          { holder: 'b', from: 250, to: 400, ...seen },
        ],
        { overlaps: [{ from: 250, to: 300 }] },
      ),
    ).toEqual([
      ['term', 10, 20],
      ['term', 25, 15],
      ['overlap', 25, 5],
    ])
  })

  test('shows a transfer as an arrow, and no gap', () => {
    expect(
      drawn([
        { holder: 'a', from: 100, to: 300, end: 'transferred', drainFrom: 250, ...seen },
        { holder: 'b', from: 300, ...seen },
      ]),
    ).toEqual([
      ['term', 10, 20],
      ['drain', 25, 5],
      ['arrow', 30, 0],
      ['term', 30, 60],
      ['valid', 90, 8],
    ])
  })

  test('of a lost term shows the time after the last renewal apart', () => {
    expect(drawn([{ holder: 'a', from: 100, to: 300, end: 'lost', renewedAt: 200, ...seen }])).toEqual([
      ['term', 10, 10],
      ['valid', 20, 10],
    ])
  })

  test('marks a drain that did not end before the lease was lost, or before it expired, as wedged', () => {
    expect(drawn([{ holder: 'a', from: 100, to: 300, end: 'lost', drainFrom: 150, renewedAt: 200, ...seen }])).toEqual([
      ['term', 10, 10],
      ['drain', 15, 5],
      ['wedge', 20, 10],
    ])
    expect(drawn([{ holder: 'b', from: 100, drainFrom: 300, ...seen }], { renewedAt: 400 })).toEqual([
      ['term', 10, 40],
      ['drain', 30, 20],
      ['wedge', 50, 40],
    ])
  })

  test('of a holder that did not renew in time shows since when the lease has expired', () => {
    expect(drawn([{ holder: 'b', from: 100, ...seen }], { renewedAt: 400 })).toEqual([
      ['term', 10, 40],
      ['expired', 50, 40],
    ])
  })

  test('leaves out what is not in view, and cuts what leaves it', () => {
    expect(drawn([{ holder: 'a', from: -500, to: -100, end: 'released', ...seen }])).toEqual([])
    expect(drawn([{ holder: 'a', from: -1e9, to: 500, end: 'released', ...seen }])).toEqual([['term', -10, 60]])
  })
})

test('a view that follows now leaves room for the validity, and another one stays', () => {
  expect(scaleOf({ spanMs: 1000, endAt: undefined }, 5000, 100)).toEqual({
    start: 4120,
    end: 5120,
    width: 100,
    now: 5000,
  })
  expect(scaleOf({ spanMs: 1000, endAt: 3000 }, 5000, 100)).toMatchObject({ start: 2000, end: 3000 })
})

test.each([100, 1000, 60_000, 3_600_000, 86_400_000, 30 * 86_400_000])(
  'ticks of %d ms are apart and in view',
  (spanMs) => {
    const scale = { start: 1e12, end: 1e12 + spanMs, width: 800, now: 1e12 }
    const places = ticksOf(scale).map(({ time }) => xOf(time, scale))
    expect(places.length).toBeGreaterThanOrEqual(1)
    expect(places.every((x) => x >= 0 && x <= 800)).toBe(true)
    expect(places.slice(1).every((x, index) => x - (places[index] ?? 0) >= 90)).toBe(true)
  },
)

test('times are as precise as the step', () => {
  const time = new Date(2026, 0, 2, 3, 4, 5, 6).getTime()
  expect([1, 1000, 60_000, 86_400_000].map((step) => clockText(time, step))).toEqual([
    '03:04:05.006',
    '03:04:05',
    '03:04',
    '2026-01-02',
  ])
})

test.each([
  [12, '12ms'],
  [1234, '1.2s'],
  [75_000, '1m15s'],
  [3_600_000, '1h'],
])('%d ms read %s', (ms, text) => expect(durationText(ms)).toBe(text))

test('the latest bands replace those that began at the same time', () => {
  const open = { holder: 'a', from: 5, isFromSeen: true }
  const closed = { ...open, to: 9, end: 'released' }
  const next = { holder: 'b', from: 10, isFromSeen: true }
  expect(withLatest([{ ...open, from: 1 }, open], [closed, next])).toEqual([{ ...open, from: 1 }, closed, next])
  expect(withLatest([open], [])).toEqual([open])
})
