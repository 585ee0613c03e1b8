import { describe, expect, test } from 'vitest'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'
import { readProcessRef, readTransferNonce, withTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

/*
 * Elections in which a coordinator names the holder. The coordinator compares the clocks of others and may be wrong in every way: it
 * may name a replica while the holder of before still acts. The write of the replica that is named protects the lease, and observed time
 * protects the term.
 */

const SERVER = { coordination: 'server' } as const

/** The lease as an election controller writes it: 5 s, and no acquire time. */
function named(version: bigint, holderIdentity: string, more: Partial<LeaseRecord> = {}): PresentLease {
  const renewTime = `2026-01-01T12:00:${String(version).padStart(2, '0')}.000000Z`
  return lease({ version, holderIdentity, leaseDurationSeconds: 5, acquireTime: undefined, renewTime, ...more })
}

const heldBy = (holderIdentity: string, version = 1n): LockSnapshot => lease({ version, holderIdentity })

/** A follower that has seen `first`. */
function follower(first: LockSnapshot): PureElector {
  const elector = new PureElector(SERVER)
  elector.follow(first)
  return elector
}

describe('A follower under a coordinator', () => {
  test.each([
    ['is free', lease({ version: 1n, holderIdentity: '' })],
    ['does not exist', { kind: 'absent', version: 1n } as const],
    ['names another replica', named(1n, 'other')],
    ['has expired', heldBy('other')],
  ])('does not acquire a lease that %s', (_, snapshot) => {
    const elector = follower(snapshot)
    elector.passTo(120_000)
    expect(elector.all('write')).toEqual([])
  })

  test('does not acquire a lease whose holder is proved to be dead: the coordinator names the next one', () => {
    const elector = follower(heldBy('other'))
    const { acquireTime = '' } = lease({ version: 1n, holderIdentity: 'other' }).record
    elector.send({ kind: 'holder-dead', holder: { identity: 'other', acquireTime } })
    elector.passTo(60_000)
    expect(elector.all('write')).toEqual([])
  })

  test('acquires nothing while it is not known who decides', () => {
    const elector = new PureElector({ coordination: 'asking' })
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.passTo(60_000)
    expect(elector.all('write')).toEqual([])
    elector.config = { ...elector.config, coordination: 'peers' }
    expect(purposes(elector.send({ kind: 'wake' }))).toEqual(['acquire'])
  })

  test('acquires the lease at once when it is named, and leads if nobody can act any more', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    expect(purposes(elector.observe(named(2n, ME)))).toEqual(['acquire'])
    expect(elector.lastWrite.write.base?.version).toBe(2n)
    expect(kinds(elector.acknowledge(3n))).toContain('begin-term')
  })

  test('acquires also a lease that names it and looks expired', () => {
    const elector = follower(named(1n, 'other'))
    elector.passTo(60_000)
    elector.observe(named(2n, ME, { renewTime: '2020-01-01T00:00:00.000000Z' }))
    expect(elector.lastWrite.write.purpose).toBe('acquire')
  })

  test('never acts before its acquiring write is acknowledged, or if it is refused', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    elector.observe(named(2n, ME))
    elector.passTo(1000)
    elector.failWrite('conflict')
    elector.observe(named(3n, 'other'))
    elector.passTo(60_000)
    expect(elector.all('begin-term')).toEqual([])
  })

  test('acquires at once and acts only when the holder of before cannot act any more', () => {
    const elector = follower(heldBy('deposed'))
    elector.passTo(4000)
    elector.observe(named(2n, ME))
    elector.acknowledge(3n)
    elector.as('reserving')
    elector.passTo(14_999)
    expect(elector.all('begin-term')).toEqual([])
    expect(purposes(elector.effects)).toContain('renew')
  })

  test('protects the holder of before also over several that were named and did not come', () => {
    const elector = follower(heldBy('deposed'))
    elector.passTo(1000)
    elector.observe(named(2n, 'first'))
    elector.passTo(6000)
    elector.observe(named(3n, 'second'))
    elector.passTo(11_000)
    elector.observe(named(4n, ME))
    elector.acknowledge(5n)
    elector.as('reserving')
    expect(elector.as('reserving').actAt).toBeGreaterThanOrEqual(15_000)
  })

  test('protects the holder of before also over another one that was named, acquired the lease for a shorter time, and may not act yet', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: 'deposed', leaseDurationSeconds: 30 }))
    elector.passTo(1000)
    elector.observe(named(2n, 'brief'))
    elector.observe(
      lease({
        version: 3n,
        holderIdentity: 'brief',
        leaseDurationSeconds: 4,
        acquireTime: '2026-01-01T12:00:03.000000Z',
      }),
    )
    elector.observe(named(4n, ME))
    elector.acknowledge(5n)
    expect(elector.as('reserving').actAt).toBe(30_000)
  })

  test('protects the holder of a lease that somebody deleted', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(1000)
    elector.observe({ kind: 'absent', version: 2n })
    elector.observe(named(3n, ME, { leaseTransitions: undefined }))
    elector.acknowledge(4n)
    expect(elector.as('reserving').actAt).toBe(15_000)
  })

  test('waits for a whole lease duration if the transitions show that a holder went unseen', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '', leaseTransitions: 3 }))
    elector.passTo(1000)
    elector.observe(named(9n, ME, { leaseTransitions: 4 }))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(16_000)
  })

  test('waits for a whole lease duration if it sees the lease for the first time when it is named', () => {
    const elector = follower(named(2n, ME))
    elector.acknowledge(3n)
    expect(elector.as('reserving').actAt).toBe(15_000)
  })

  test('protects the holder of before also where it believes that the replicas decide', () => {
    const elector = new PureElector({ coordination: 'peers' })
    elector.follow(heldBy('holder'))
    elector.passTo(1000)
    elector.observe(named(2n, 'other'))
    elector.passTo(14_999)
    expect(elector.all('write')).toEqual([])
  })

  test('protects the holder of before also when it is named again meanwhile', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(1000)
    elector.observe(named(2n, ME))
    elector.acknowledge(3n)
    elector.passTo(2000)
    elector.observe(named(4n, ME, { leaseTransitions: 4 }))
    elector.acknowledge(5n)
    expect(elector.as('reserving').actAt).toBe(15_000)
  })

  test('waits for a whole lease duration if it is named again after a gap: another holder may have come and gone', () => {
    const elector = follower(named(1n, ME))
    elector.failWrite('conflict')
    elector.observe(named(2n, ME))
    elector.failWrite('conflict')
    elector.send({ kind: 'watch-down' })
    elector.stallTo(30_000)
    elector.answerRead(named(9n, ME))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(45_000)
  })

  test('protects a holder that may have come and gone between two terms of another one, which states a short duration', () => {
    const brief = (version: bigint, acquireTime: string): PresentLease =>
      lease({ version, holderIdentity: 'brief', leaseDurationSeconds: 4, acquireTime })
    const elector = follower(brief(1n, '2026-01-01T12:00:01.000000Z'))
    elector.passTo(1000)
    elector.send({ kind: 'watch-down' })
    elector.answerRead(brief(9n, '2026-01-01T12:00:09.000000Z'))
    elector.send({ kind: 'watch-up' })
    elector.passTo(2000)
    elector.observe(named(10n, ME))
    elector.acknowledge(11n)
    expect(elector.as('reserving').actAt).toBe(16_000)
  })

  test('waits no longer because it sees the same record again', () => {
    const elector = follower(named(1n, ME))
    elector.failWrite('unknown-outcome')
    elector.send({ kind: 'watch-down' })
    elector.stallTo(10_000)
    elector.answerRead({ ...named(1n, ME), version: 2n })
    elector.acknowledge(3n)
    expect(elector.as('reserving').actAt).toBe(15_000)
  })

  test('protects a holder that a coordinator named again, for a shorter time, before it named this replica', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(1000)
    elector.observe(named(2n, 'holder'))
    elector.observe(named(3n, ME))
    elector.acknowledge(4n)
    expect(elector.as('reserving').actAt).toBe(15_000)
  })

  test('does not release a lease while the holder of before may act', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(1000)
    elector.observe(named(2n, ME))
    elector.acknowledge(3n)
    elector.send({ kind: 'stop' })
    expect(elector.all('write').map(({ write }) => write.purpose)).not.toContain('release')
  })

  test('does not publish its process while the holder of before may act: a proof of its own death would prove nothing about that holder', () => {
    const elector = follower(heldBy('deposed'))
    elector.config = { ...elector.config, processRef: 'pod/container' }
    elector.passTo(1000)
    elector.observe(named(2n, ME))
    const published = () => readProcessRef(elector.lastWrite.write.record)
    expect(published()).toBeUndefined()
    for (let version = 3n; elector.state.kind !== 'leading'; version += 1n) {
      expect(published()).toBeUndefined()
      elector.acknowledge(version)
      elector.passTo(elector.now + 2000)
    }
    expect(elector.now).toBeGreaterThanOrEqual(15_000)
    elector.passTo(elector.now + 2000)
    expect(published()).toBe('pod/container')
  })

  test('publishes its process with the acquisition when nobody can act any more', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    elector.config = { ...elector.config, processRef: 'pod/container' }
    elector.observe(named(2n, ME))
    expect(readProcessRef(elector.lastWrite.write.record)).toBe('pod/container')
  })

  test('counts the transition that the coordinator does not count', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '', leaseTransitions: 3 }))
    elector.observe(named(2n, ME, { leaseTransitions: 3 }))
    expect(elector.lastWrite.write.record.leaseTransitions).toBe(4)
  })

  test('waits for a whole lease duration if a holder may have gone unseen while the watch was disconnected', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    elector.passTo(1000)
    elector.send({ kind: 'watch-down' })
    elector.answerRead(named(9n, ME))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(16_000)
  })

  test('waits for a whole lease duration after it finds the lease deleted when the watch is connected again', () => {
    const elector = follower(heldBy('holder'))
    elector.send({ kind: 'watch-down' })
    elector.passTo(60_000)
    // The holder may have renewed until somebody deleted the lease.
    elector.answerRead({ kind: 'absent', version: 8n })
    elector.send({ kind: 'watch-up' })
    elector.observe(named(9n, ME, { leaseTransitions: undefined }))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(75_000)
  })

  /** Reads the lease although the watch is connected: the watch has just shown an older version. */
  function read(elector: PureElector, snapshot: LockSnapshot): void {
    elector.observe(heldBy('holder', 0n))
    elector.passTo(elector.now + 500)
    elector.answerRead(snapshot)
  }

  test('waits for a whole lease duration if a read shows that it is named: the holder may have renewed before that', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(10_000)
    read(elector, named(9n, ME, { leaseTransitions: 3 }))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(25_500)
  })

  test('waits for a whole lease duration if a read shows that the lease was deleted, and it is then named', () => {
    const elector = follower(heldBy('holder'))
    elector.passTo(10_000)
    read(elector, { kind: 'absent', version: 8n })
    elector.observe(named(9n, ME, { leaseTransitions: undefined }))
    elector.acknowledge(10n)
    expect(elector.as('reserving').actAt).toBe(25_500)
  })

  test.each([
    ['wait', 15_000],
    ['create', undefined],
  ] as const)(
    'that starts while there is no lease, and is named, takes `missingLease: %s` like a replica that creates the lease',
    (missingLease, actAt) => {
      const elector = new PureElector({ ...SERVER, missingLease })
      elector.follow({ kind: 'absent', version: 1n })
      elector.observe(named(2n, ME, { leaseTransitions: undefined }))
      elector.acknowledge(3n)
      expect(elector.state.kind === 'reserving' ? elector.state.actAt : undefined).toBe(actAt)
    },
  )

  test('waits for nobody after a transfer, which proves that the holder of before has ended', () => {
    const held = heldBy('before')
    const elector = follower(held)
    elector.passTo(1000)
    const { record } = lease({ version: 2n, holderIdentity: ME, acquireTime: '2026-01-01T12:00:02.000000Z' })
    elector.observe({ kind: 'present', version: 2n, record: withTransferNonce(record, 'n'), deleting: false })
    expect(kinds(elector.acknowledge(3n))).toContain('begin-term')
  })

  test('does not take a second naming for another process of its identity', () => {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    elector.observe(named(2n, ME))
    elector.failWrite('throttled')
    elector.observe(named(3n, ME))
    expect(elector.all('identity-taken')).toEqual([])
  })

  test('neither joins the list of standbys nor answers an offer', () => {
    const elector = new PureElector({ ...SERVER, announceAfterMs: 0 })
    elector.follow(heldBy('other'))
    elector.passTo(10_000)
    expect(elector.all('write')).toEqual([])
  })
})

describe('A leader under a coordinator', () => {
  function leader(preferred?: PureElector['config']['preferred']): PureElector {
    const elector = follower(lease({ version: 1n, holderIdentity: '' }))
    elector.observe(named(2n, ME))
    elector.acknowledge(3n)
    elector.as('leading')
    elector.config = { ...elector.config, preferred }
    return elector
  }

  /** The coordinator adds a preference to the lease as it is. */
  const prefer = (elector: PureElector, preferredHolder: string): void => {
    const { record } = elector.stored(4n)
    elector.observe({ kind: 'present', version: 4n, record: { ...record, preferredHolder }, deleting: false })
  }

  test('goes on while it is not known whether the preferred candidate lives', () => {
    const elector = leader()
    prefer(elector, 'better')
    elector.as('leading')
  })

  test('drains for a candidate that lives, renews meanwhile with the preference, and ends by one write that names it', () => {
    const elector = leader({ identity: 'better', isAlive: true })
    prefer(elector, 'better')
    elector.as('draining')
    elector.passTo(2500)
    expect(purposes(elector.effects)).toEqual(['acquire', 'renew'])
    expect(elector.lastWrite.write.record).toMatchObject({ holderIdentity: ME, preferredHolder: 'better' })
    elector.acknowledge(5n)
    elector.send({ kind: 'drained' })
    const { purpose, record } = elector.lastWrite.write
    expect(purpose).toBe('transfer')
    expect(record).toMatchObject({ holderIdentity: 'better', leaseDurationSeconds: 5 })
    expect(record).not.toHaveProperty('preferredHolder')
    expect(readTransferNonce(record)).toBeDefined()
    elector.acknowledge(6n)
    expect(elector.all('term-over').at(-1)).toMatchObject({ outcome: 'transferred', successor: 'better' })
  })

  test('clears a preference for a candidate that is gone, and stays', () => {
    const elector = leader({ identity: 'gone', isAlive: false })
    prefer(elector, 'gone')
    elector.passTo(2500)
    elector.as('leading')
    expect(elector.lastWrite.write.record.preferredHolder).toBeUndefined()
  })

  test('releases if the preferred candidate has died while the term drained', () => {
    const elector = leader({ identity: 'better', isAlive: true })
    prefer(elector, 'better')
    elector.config = { ...elector.config, preferred: { identity: 'better', isAlive: false } }
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'release', record: { holderIdentity: '' } })
  })

  test('offers the lease to nobody: the coordinator chooses', () => {
    const elector = leader()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0, to: 'friend', answerTimeoutMs: 2000 })
    elector.passTo(100)
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write.purpose).toBe('release')
  })
})
