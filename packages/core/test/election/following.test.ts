import { describe, expect, test } from 'vitest'
import { nextWakeAt } from '../../src/election/machine/transition.ts'
import { withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { ABSENT, failed, kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

const renewed = (version: bigint, second: number) =>
  lease({ version, renewTime: `2026-01-01T11:00:${String(second).padStart(2, '0')}.000000Z` })

describe('A follower', () => {
  test('asks for nothing but the watch, and reads only when the watch does not report in time', () => {
    const elector = new PureElector()
    expect(elector.send({ kind: 'start' })).toEqual([])
    expect(elector.passTo(2499)).toEqual([])
    expect(kinds(elector.passTo(2500))).toEqual(['read'])
  })

  test('neither reads nor writes in steady state while the watch is up', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    const requests: string[] = []
    for (let second = 2; second < 60; second += 2) {
      requests.push(...kinds(elector.passTo(second * 1000)))
      requests.push(...kinds(elector.observe(renewed(BigInt(second), second))))
    }
    expect(requests.filter((kind) => kind !== 'leader-observed')).toEqual([])
  })

  test('does what is due when it is woken, and not at an event that changes nothing', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    elector.stallTo(16_000)
    expect(kinds(elector.answerWrite(failed('conflict'), 99))).toEqual([])
    expect(kinds(elector.passTo(16_000))).toEqual(['write'])
  })

  test('polls at the retry period with jitter while the watch is down, and stops polling when it is up again', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    elector.random = 0.5
    elector.now = 1000
    expect(kinds(elector.send({ kind: 'watch-down' }))).toEqual(['read'])
    elector.answerRead(renewed(1n, 0))
    expect(kinds(elector.passTo(1000 + 2199))).toEqual([])
    expect(kinds(elector.passTo(1000 + 2200))).toEqual(['read'])
    elector.answerRead(renewed(1n, 0))
    elector.send({ kind: 'watch-up' })
    expect(kinds(elector.passTo(9000))).toEqual([])
  })

  test('goes on polling after a read that failed, no earlier than the server asks for', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.passTo(2500)
    const { request } = elector.all('read')[0] ?? { request: 0 }
    elector.send({
      kind: 'read-answer',
      request,
      result: { kind: 'failed', failure: 'throttled', retryAfterMs: 7000, error: new Error('slow down') },
    })
    expect(kinds(elector.passTo(9499))).toEqual([])
    expect(kinds(elector.passTo(9500))).toEqual(['read'])
  })

  test('polls after one lease duration at the latest, however long the server asks it to wait', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.passTo(2500)
    elector.readResult(failed('throttled', 86_400_000))
    expect(kinds(elector.passTo(17_499))).toEqual([])
    expect(kinds(elector.passTo(17_500))).toEqual(['read'])
  })

  test("takes the lease when its record has not changed for the record's own duration, and not a moment before", () => {
    const elector = new PureElector()
    elector.now = 1000
    elector.follow(lease({ version: 7n, leaseDurationSeconds: 30 }))
    expect(elector.passTo(30_999)).toEqual([])
    const [write] = elector.passTo(31_000)
    expect(write).toMatchObject({ kind: 'write', write: { purpose: 'acquire', base: { version: 7n } } })
  })

  test('waits for the full duration again after every change of the record', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    elector.passTo(14_000)
    elector.observe(renewed(2n, 14))
    expect(elector.passTo(28_999)).toEqual([])
    expect(purposes(elector.passTo(29_000))).toEqual(['acquire'])
  })

  test('does not let an edit of annotations prolong a dead leader, and writes on the edited version', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    for (let version = 2n; version < 8n; version++) {
      elector.passTo(Number(version) * 2000)
      elector.observe({ ...renewed(version, 0), native: { annotations: { edited: String(version) } } })
    }
    expect(elector.passTo(14_999)).toEqual([])
    elector.passTo(15_000)
    expect(elector.lastWrite.write.base?.version).toBe(7n)
  })

  test.each([
    ['holder', { holderIdentity: 'third' }],
    ['acquire time', { acquireTime: '2026-01-01T11:00:01.000000Z' }],
    ['renew time', { renewTime: '2026-01-01T11:00:00.000001Z' }],
    ['duration', { leaseDurationSeconds: 16 }],
    ['transitions', { leaseTransitions: 4 }],
  ])('takes a change of the %s alone for a sign of life', (_field, change) => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    elector.passTo(10_000)
    elector.observe(lease({ version: 2n, ...change }))
    expect(elector.passTo(24_999)).toEqual([])
    elector.passTo(26_000)
    expect(elector.state.kind).toBe('acquiring')
  })

  test('never compares a stored time with a clock: a renew time far in the future or the past changes nothing', () => {
    for (const renewTime of ['2099-01-01T00:00:00.000000Z', '1999-01-01T00:00:00.000000Z']) {
      const elector = new PureElector()
      elector.follow(lease({ version: 1n, renewTime }))
      expect(elector.passTo(14_999)).toEqual([])
      expect(purposes(elector.passTo(15_000))).toEqual(['acquire'])
    }
  })

  test("honours the record's duration with any holder: a release that leaves the name in place frees it after one second", () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 1 }))
    expect(elector.passTo(999)).toEqual([])
    expect(purposes(elector.passTo(1000))).toEqual(['acquire'])
  })

  test('waits fifteen seconds before a record that has no usable duration', () => {
    for (const leaseDurationSeconds of [undefined, 0, -5]) {
      const elector = new PureElector()
      elector.follow(lease({ version: 1n, leaseDurationSeconds }))
      expect(elector.passTo(14_999)).toEqual([])
      expect(purposes(elector.passTo(15_000))).toEqual(['acquire'])
    }
  })

  test('does not write to a lease that is being deleted', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '', deleting: true }))
    expect(elector.passTo(60_000)).toEqual([])
    expect(elector.state.kind).toBe('following')
  })

  test('drops views that are older than what it has seen', () => {
    const elector = new PureElector()
    elector.follow(renewed(5n, 4))
    elector.passTo(1000)
    expect(elector.observe(lease({ version: 4n, holderIdentity: '' }))).toEqual([])
    expect(elector.as('following').observation).toMatchObject({ kind: 'present', lease: { version: 5n } })
  })

  test('reports who leads once for each change', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    elector.observe(renewed(2n, 2))
    elector.observe(lease({ version: 3n, holderIdentity: 'third' }))
    expect(elector.all('leader-observed').map(({ identity }) => identity)).toEqual(['other', 'third'])
  })

  test('handles a poll that was sent before an expiry by the moment of its answer', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.passTo(2500)
    elector.now = 4000
    elector.answerRead(renewed(1n, 0))
    elector.send({ kind: 'watch-up' })
    expect(purposes(elector.passTo(18_999))).toEqual([])
    expect(purposes(elector.passTo(19_000))).toEqual(['acquire'])
  })

  test('reports a read that failed', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.passTo(60_000)
    expect(elector.failRead('unreachable')).toContainEqual(
      expect.objectContaining({ kind: 'request-failed', purpose: 'read' }),
    )
  })
})

/** When the elector is to be woken. */
function wakeOf({ state, config }: PureElector): number {
  const at = nextWakeAt(state, config)
  if (at === undefined) throw new Error('The elector sleeps for good')
  return at
}

describe('Of many followers that see one release', () => {
  const sendersWithin = (followers: number, latencyMs: number): number => {
    const times = Array.from({ length: followers }, (_, index) => {
      const elector = new PureElector()
      elector.random = (index + 0.5) / followers
      elector.follow(renewed(1n, 0))
      elector.now = 1000
      elector.observe(lease({ version: 2n, holderIdentity: '' }))
      while (elector.all('write').length === 0) elector.passTo(wakeOf(elector))
      return elector.now
    })
    const first = Math.min(...times)
    return times.filter((time) => time <= first + latencyMs).length
  }

  test.each([10, 100, 1000])('at most a few of %i write before they can see who won', (followers) => {
    expect(sendersWithin(followers, 10)).toBeLessThanOrEqual(5)
  })

  test('the first writes within a tenth of a second', () => {
    const elector = new PureElector()
    elector.random = 0.999_999
    elector.follow(renewed(1n, 0))
    elector.observe(lease({ version: 2n, holderIdentity: '', acquireTime: '2026-01-01T11:20:00.000000Z' }))
    elector.passTo(100)
    expect(elector.state.kind).toBe('acquiring')
  })
})

describe('A record that names this replica', () => {
  test('belongs to another process if this process did not write it, and expires like any other', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    expect(elector.passTo(14_999)).toEqual([])
    expect(purposes(elector.passTo(15_000))).toEqual(['acquire'])
  })

  test('is proof that the identity is taken when it is renewed by somebody else', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    const effects = elector.observe(
      lease({ version: 2n, holderIdentity: ME, renewTime: '2026-01-01T11:00:02.000000Z' }),
    )
    expect(effects).toContainEqual({ kind: 'identity-taken', identity: ME })
    expect(elector.state.kind).toBe('stopped')
  })

  test('is not taken for a second process when the lease was transferred to this one, and edited since', () => {
    const elector = new PureElector({ neverLeads: true })
    const named = lease({ version: 1n, holderIdentity: ME })
    const transferred = { ...named, record: withTransferNonce(named.record, 'n') }
    elector.follow(transferred)
    const renewTime = '2026-01-01T11:00:02.000000Z'
    elector.observe({ ...transferred, version: 2n, record: { ...transferred.record, renewTime } })
    expect(elector.state.kind).toBe('following')
  })

  test('is not taken for a second process when a restored store shows it under the version of another one', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    elector.observe(lease({ version: 1n, holderIdentity: ME, renewTime: '2026-01-01T11:00:02.000000Z' }))
    expect(elector.state.kind).toBe('following')
  })

  test('is not taken for a second process when only annotations change', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    elector.observe(lease({ version: 2n, holderIdentity: ME }))
    expect(elector.state.kind).toBe('following')
  })

  test('is not taken for a second process when it is a late write of this one', () => {
    const elector = new PureElector().lead()
    elector.passTo(2000)
    const late = elector.stored(4n)
    elector.failWrite('unreachable')
    elector.send({ kind: 'lost', reason: 'stalled' })
    elector.send({ kind: 'drained' })
    elector.as('acquiring')
    elector.failWrite('conflict')
    elector.observe(late)
    expect(elector.all('identity-taken')).toEqual([])
  })
})

describe('A follower that stops', () => {
  test('stops at once when it wrote nothing that is in doubt', () => {
    const elector = new PureElector()
    elector.follow(renewed(1n, 0))
    expect(elector.send({ kind: 'stop' })).toEqual([{ kind: 'stopped' }])
    expect(elector.state.kind).toBe('stopped')
  })

  test('is stopped before it starts when it never stood', () => {
    const elector = new PureElector()
    expect(elector.send({ kind: 'stop' })).toEqual([{ kind: 'stopped' }])
    expect(elector.observe(ABSENT)).toEqual([])
  })
})
