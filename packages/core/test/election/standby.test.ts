import { describe, expect, test } from 'vitest'
import { releaseRecord } from '../../src/election/machine/records.ts'
import { readStandbys, waitForStandbysMs, withStandbys } from '../../src/election/machine/standby.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { lease, ME, PureElector } from './pure-elector.ts'

const HELD: LeaseRecord = lease({ version: 1n }).record
const QUICKLY = { wallTime: 0, writeMs: 3 }

const wait = (free: LeaseRecord, identity: string) =>
  waitForStandbysMs(free, identity, { holdBackMs: 80, retryPeriodMs: 2000 })

function waitsAfter(writeMs: number): number[] {
  const released = releaseRecord(withStandbys(HELD, ['a', 'b']), { wallTime: 0, returning: undefined, writeMs })
  return ['a', 'b', 'c'].map((identity) => wait(released, identity))
}

describe('The standbys of a lease', () => {
  test('are read only together with the acquire time that they were written with', () => {
    const record = withStandbys(HELD, ['a', 'b'])
    expect(readStandbys(record)).toEqual(['a', 'b'])
    expect(readStandbys({ ...record, acquireTime: '2026-01-01T11:59:59.000000Z' })).toEqual([])
  })

  test.each(['', 'null', '[]', '"x"', '{"of":1}', '{"of":"t","identities":7}', '{'])(
    'are none where the annotation says %s',
    (text) => {
      expect(readStandbys({ ...HELD, acquireTime: 't', annotations: { 'tenure.dev/standby': text } })).toEqual([])
    },
  )

  test('get a leader that follows again at their end, and not one that is leaving', () => {
    const held = withStandbys(HELD, ['a'])
    expect(readStandbys(releaseRecord(held, { ...QUICKLY, returning: 'b' }))).toEqual(['a', 'b'])
    expect(readStandbys(releaseRecord(held, { ...QUICKLY, returning: undefined }))).toEqual(['a'])
  })

  test('try one after the other, and all others after them and spread', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, ['a', 'b'])
    expect(wait(released, 'a')).toBe(0)
    expect(wait(released, 'b')).toBe(25)
    expect(wait(released, 'c')).toBe(130)
  })

  test('and all others are spread by as much more as the writes of the leader took longer than usual', () => {
    expect(waitsAfter(7)).toEqual([0, 25, 130])
    expect(waitsAfter(30)).toEqual([0, 100, 520])
  })

  test('and nobody waits for longer than a client that polls would, whatever the leader says of its writes', () => {
    const released = withStandbys({ ...HELD, holderIdentity: '' }, ['a', 'b', 'c'], 1e9)
    const last = { holdBackMs: 75, retryPeriodMs: 2000 }
    expect(waitForStandbysMs(released, 'd', last)).toBe(2000)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 300 })).toBe(300)
    expect(waitForStandbysMs(released, 'd', { ...last, retryPeriodMs: 100 })).toBe(150)
  })
})

test('the first standby takes a released lease at the moment at which it sees it, and is a standby no more', () => {
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  elector.now = 1000
  const record = withStandbys({ ...HELD, holderIdentity: '', leaseDurationSeconds: 1 }, [ME, 'other'])
  const [write] = elector
    .observe({ kind: 'present', version: 2n, record, deleting: false })
    .filter(({ kind }) => kind === 'write')
  expect(write).toMatchObject({ kind: 'write', write: { purpose: 'acquire', base: { version: 2n } } })
  if (write?.kind === 'write') expect(readStandbys(write.write.record)).toEqual(['other'])
})

test('the first standby takes a lease whose holder died at the moment at which it expires, and others hold back', () => {
  const record = withStandbys(HELD, [ME])
  const [standby, other] = [new PureElector(), new PureElector({ identity: 'third' })]
  for (const elector of [standby, other]) {
    elector.random = 0.5
    elector.follow({ kind: 'present', version: 1n, record, deleting: false })
    elector.passTo(15_000)
  }
  expect(standby.state.kind).toBe('acquiring')
  expect(other.state.kind).toBe('following')
  other.passTo(15_000 + 25 + 75)
  expect(other.state.kind).toBe('acquiring')
})
