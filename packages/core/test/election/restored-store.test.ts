import { describe, expect, test } from 'vitest'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
import { epochOf } from '../../src/lock/lock.ts'
import { withAnswer } from '../../src/election/rules/transfer-notes.ts'
import { kinds, lease, ME, purposes, PureElector } from './pure-elector.ts'

const LATER = '2026-01-01T11:30:00.000000Z'

describe('A follower of a store that was restored', () => {
  const behind = () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1000n }))
    elector.passTo(4000)
    return elector
  }

  test('reads the lease when the watch shows an older version, and believes only the read', () => {
    const elector = behind()
    elector.observe(lease({ version: 900n, holderIdentity: '' }))
    expect(kinds(elector.passTo(4499))).toEqual([])
    expect(kinds(elector.passTo(4500))).toEqual(['read'])
    elector.answerRead(lease({ version: 1000n }))
    expect(elector.as('following').observation).toMatchObject({ changedAt: 0, lease: { version: 1000n } })
  })

  test('reads the lease when a new watch begins with an older version', () => {
    const elector = behind()
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 1000n }))
    elector.observe(lease({ version: 900n, holderIdentity: '' }))
    elector.send({ kind: 'watch-up' })
    expect(kinds(elector.passTo(elector.now + 500))).toEqual(['read'])
  })

  test('waits for a whole lease from the read that shows it, whatever the restored record says', () => {
    const elector = behind()
    elector.observe(lease({ version: 900n, holderIdentity: '' }))
    elector.passTo(4500)
    expect(purposes(elector.answerRead(lease({ version: 900n, holderIdentity: '' })))).toEqual(['announce'])
    elector.acknowledge(901n)
    expect(purposes(elector.passTo(19_499))).toEqual([])
    expect(purposes(elector.passTo(19_600))).toEqual(['acquire'])
    expect(elector.lastWrite.write.base?.version).toBe(901n)
  })

  test('does not acquire an expired lease before a read has answered its doubt', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1000n }))
    elector.passTo(14_900)
    elector.observe(lease({ version: 900n, holderIdentity: '' }))
    expect(kinds(elector.passTo(15_400))).toEqual(['read'])
    elector.failRead('unreachable')
    expect(kinds(elector.passTo(17_000))).toEqual([])
    expect(kinds(elector.passTo(18_000))).toEqual(['read'])
    expect(purposes(elector.answerRead(lease({ version: 1000n })))).toEqual(['acquire'])
  })

  test('finds it out after a refused write, too', () => {
    const elector = behind()
    elector.passTo(15_000)
    elector.failWrite('conflict')
    elector.passTo(15_500)
    elector.answerRead(lease({ version: 900n }))
    expect(elector.as('following').observation).toMatchObject({ kind: 'present', changedAt: 15_500 })
  })

  test.each(['watch', 'read'])('waits for a whole lease when a %s shows its version with another record', (source) => {
    const elector = behind()
    const reused = lease({ version: 1000n, holderIdentity: '', renewTime: LATER })
    if (source === 'watch') elector.observe(reused)
    else {
      elector.send({ kind: 'watch-down' })
      elector.answerRead(reused)
    }
    expect(elector.as('following').observation).toMatchObject({
      kind: 'present',
      changedAt: 4000,
      guardedUntil: 19_000,
    })
    expect(purposes(elector.passTo(18_999))).not.toContain('acquire')
  })

  test('takes the free lease after that time where the watch goes on', () => {
    const elector = behind()
    elector.observe(lease({ version: 1000n, holderIdentity: '', renewTime: LATER }))
    expect(purposes(elector.passTo(18_999))).not.toContain('acquire')
    expect(purposes(elector.passTo(19_100))).toContain('acquire')
  })

  test('does not wait for another read when one was overtaken by the watch that had been late', () => {
    const elector = behind()
    elector.observe(lease({ version: 900n }))
    expect(kinds(elector.passTo(4500))).toEqual(['read'])
    elector.observe(lease({ version: 1001n, renewTime: LATER }))
    elector.observe(lease({ version: 950n }))
    elector.answerRead(lease({ version: 1000n }))
    expect(purposes(elector.passTo(19_500))).toEqual(['acquire'])
  })

  test('is not misled by a read that was overtaken by the watch', () => {
    const elector = new PureElector()
    elector.send({ kind: 'start' })
    elector.send({ kind: 'watch-down' })
    elector.observe(lease({ version: 900n }))
    elector.passTo(0)
    elector.observe(lease({ version: 901n, renewTime: LATER }))
    elector.answerRead(lease({ version: 900n }))
    expect(elector.as('following').observation).toMatchObject({ lease: { version: 901n } })
  })

  test('reminds the lease of the epoch that it has forgotten, and leaves the rest as it is', () => {
    const elector = behind()
    elector.observe(lease({ version: 900n }))
    elector.passTo(4500)
    elector.answerRead(lease({ version: 900n }))
    elector.passTo(4600)
    expect(elector.lastWrite.write).toMatchObject({
      purpose: 'announce',
      base: { version: 900n },
      record: { holderIdentity: 'other', annotations: { 'tenure.dev/least-epoch': '1000' } },
    })
  })

  test('leads with an epoch above all that it knows', () => {
    const elector = behind()
    elector.observe(lease({ version: 900n, holderIdentity: '' }))
    elector.passTo(4500)
    elector.answerRead(lease({ version: 900n, holderIdentity: '' }))
    elector.passTo(4600)
    elector.failWrite('forbidden')
    elector.passTo(19_600)
    elector.acknowledge(905n)
    expect(elector.as('leading').epoch).toBe(1001n)
  })

  const lostTo = (): PureElector => {
    const elector = new PureElector().lead(1000n)
    elector.observe(lease({ version: 1001n, acquireTime: LATER, renewTime: LATER }))
    elector.send({ kind: 'drained' })
    return elector
  }
  const transferredTo = (): PureElector => {
    const elector = new PureElector().lead(999n)
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0, to: 'other', answerTimeoutMs: 1000 })
    elector.passTo(0)
    elector.acknowledge(1000n)
    const { record } = elector.stored(1000n)
    elector.observe({ ...elector.stored(1001n), record: withAnswer(record, { identity: 'other', nonce: '1' }) })
    elector.send({ kind: 'drained' })
    elector.acknowledge(1002n)
    return elector
  }

  test.each([
    ['to which it lost the lease', lostTo, 1001n],
    ['to which it transferred the lease', transferredTo, 1002n],
  ])('leads with an epoch above that of the term %s', (_, ended, epoch) => {
    const elector = ended()
    elector.as('following')
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 990n, holderIdentity: '' }))
    elector.send({ kind: 'watch-up' })
    expect(elector.lastWrite.write.purpose).toBe('announce')
    elector.acknowledge(991n)
    elector.passTo(elector.now + 16_000)
    expect(elector.lastWrite.write.purpose).toBe('acquire')
    elector.acknowledge(992n)
    expect(elector.as('leading').epoch).toBeGreaterThan(epoch)
  })

  test('leads with an epoch above that of a term of which it saw only the release', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 10n }))
    elector.observe(lease({ version: 500n, holderIdentity: '', leaseTransitions: 4, renewTime: LATER }))
    elector.send({ kind: 'watch-down' })
    elector.answerRead(lease({ version: 10n }))
    elector.passTo(1500)
    const annotations = { 'tenure.dev/least-epoch': '500' }
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'announce', record: { annotations } })
  })

  test.each([undefined, 0n, 1000n])(
    'creates a lease that the restore has lost with an epoch above all that it knows, read at version %s',
    (version) => {
      const elector = behind()
      elector.send({ kind: 'watch-down' })
      elector.answerRead({ kind: 'absent', ...(version !== undefined && { version }) })
      elector.passTo(4700)
      elector.acknowledge(7n)
      expect(elector.as('reserving').epoch).toBe(1001n)
    },
  )

  test.each([
    [1001, 1002n],
    [1500, 1501n],
  ])(
    'does not lead with the epoch of a term that came and went while its own creation was on its way',
    (epoch, next) => {
      const elector = behind()
      elector.send({ kind: 'watch-down' })
      elector.answerRead({ kind: 'absent', version: 0n })
      elector.passTo(4700)
      const { request, write } = elector.lastWrite
      const annotations = { ...write.record.annotations, 'tenure.dev/least-epoch': String(epoch) }
      elector.observe(lease({ version: 7n, annotations }))
      elector.observe({ kind: 'absent', version: 8n })
      elector.now = 6000
      elector.answerWrite({ kind: 'written', lease: elector.stored(9n) }, request)
      elector.passTo(elector.now)
      elector.answerRead({ ...elector.stored(9n), version: 9n })
      elector.passTo(elector.now)
      expect(elector.as('acquiring').write.base?.version).toBe(9n)
      elector.acknowledge(10n)
      expect(elector.as('reserving').epoch).toBe(next)
    },
  )
})

describe('A former leader of a store that was restored', () => {
  const older = (elector: PureElector) => ({ ...elector.stored(1000n), version: 1000n })
  /** Leads since version 1000 and has renewed at 1001. */
  const renewed = (config: Partial<ElectorConfig> = {}) => {
    const elector = new PureElector(config).lead(1000n)
    elector.passTo(2000)
    elector.acknowledge(1001n)
    return elector
  }

  test.each<[string, (elector: PureElector) => void]>([
    [
      'before it lost the lease',
      (elector) => {
        elector.observe(older(elector))
        elector.send({ kind: 'lost', reason: 'stalled' })
      },
    ],
    [
      'while its term ended',
      (elector) => {
        elector.send({ kind: 'lost', reason: 'stalled' })
        elector.observe(older(elector))
      },
    ],
  ])('reads the lease before it acquires, if the store went back %s', (_, goBack) => {
    const elector = renewed()
    goBack(elector)
    expect(kinds(elector.send({ kind: 'drained' }))).toEqual(['term-over', 'read'])
    expect(kinds(elector.passTo(40_000))).toEqual([])
    elector.answerRead(older(elector))
    expect(elector.as('following').observation).toMatchObject({ guardedUntil: 55_000, lease: { version: 1000n } })
  })

  test('reads the lease before it acquires, if the store went back while it waited before it acted', () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 999n }))
    elector.observe({ kind: 'absent', version: 1000n })
    elector.passTo(100)
    elector.acknowledge(1001n)
    elector.as('reserving')
    elector.observe(lease({ version: 999n }))
    expect(kinds(elector.send({ kind: 'lost', reason: 'stalled' }))).toEqual(['read'])
  })

  test('does not read the lease if a newer view has come since', () => {
    const elector = renewed()
    const own = elector.stored(1001n)
    elector.observe(older(elector))
    elector.observe(own)
    elector.send({ kind: 'lost', reason: 'stalled' })
    expect(kinds(elector.send({ kind: 'drained' }))).toEqual(['term-over', 'write'])
  })

  test('does not read a lease that it has just released', () => {
    const elector = renewed()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.send({ kind: 'drained' })
    expect(kinds(elector.acknowledge(1002n))).not.toContain('read')
  })
})

describe('A leader in a store that was restored', () => {
  /** Leads since version 1000, renewed at 1001; the next renewal is refused, and the lease is read. */
  const refused = () => {
    const elector = new PureElector().lead(1000n)
    elector.passTo(2000)
    elector.acknowledge(1001n)
    elector.passTo(4000)
    elector.failWrite('conflict')
    return elector
  }

  test('renews its own record at once where the store still has it', () => {
    const elector = refused()
    const { record } = elector.stored(0n)
    const own = { ...record, renewTime: record.acquireTime }
    elector.answerRead({ kind: 'present', version: 900n, deleting: false, record: own })
    expect(purposes(elector.passTo(4000))).toEqual(['renew'])
    expect(elector.lastWrite.write.base?.version).toBe(900n)
    expect(elector.as('leading').hold.validUntil).toBe(2000 + 14_250)
    elector.acknowledge(902n)
    expect(elector.as('leading').hold.validUntil).toBe(4000 + 14_250)
  })

  test('ends its term where the store has another record', () => {
    const elector = refused()
    expect(kinds(elector.answerRead(lease({ version: 900n })))).toEqual(['end-term', 'close-gate', 'hard-abort'])
  })

  test.each([undefined, 900n])('ends its term where the store has no lease, read at version %s', (version) => {
    const elector = refused()
    expect(kinds(elector.answerRead({ kind: 'absent', ...(version !== undefined && { version }) }))).toEqual([
      'end-term',
    ])
  })

  test('ends its term where the store has no lease at the very version of its lease', () => {
    const elector = new PureElector().lead(1000n)
    expect(kinds(elector.observe({ kind: 'absent', version: 999n }))).toEqual([])
    expect(kinds(elector.observe({ kind: 'absent', version: 1000n }))).toEqual(['end-term'])
  })

  test('begins the next term with a greater epoch than the last', () => {
    const elector = refused()
    elector.answerRead(lease({ version: 900n, holderIdentity: '' }))
    elector.send({ kind: 'drained' })
    elector.passTo(4100)
    elector.acknowledge(910n)
    expect(elector.as('leading').epoch).toBeGreaterThan(1000n)
  })
})

describe('The least epoch that a record states', () => {
  const at = (version: bigint, least: bigint) => {
    const { record, ...rest } = lease({ version, holderIdentity: '' })
    return { ...rest, record: withLeastEpoch(record, least) }
  }

  test('raises the epoch of the next term above it', () => {
    const elector = new PureElector()
    elector.follow(at(28n, 563n))
    elector.acknowledge(29n)
    expect(elector.as('leading').epoch).toBe(564n)
    expect(elector.lastWrite.write.record.annotations['tenure.dev/least-epoch']).toBe('564')
  })

  test('is left out once versions are beyond it', () => {
    const elector = new PureElector()
    elector.follow(at(600n, 563n))
    expect(elector.lastWrite.write.record.annotations).not.toHaveProperty('tenure.dev/least-epoch')
    elector.acknowledge(601n)
    expect(elector.as('leading').epoch).toBe(601n)
  })

  test('is kept by renewals and by the release', () => {
    const elector = new PureElector()
    elector.follow(at(28n, 563n))
    elector.acknowledge(29n)
    elector.passTo(2000)
    expect(elector.lastWrite.write.record.annotations['tenure.dev/least-epoch']).toBe('564')
    elector.acknowledge(30n)
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'release' })
    expect(elector.lastWrite.write.record.annotations['tenure.dev/least-epoch']).toBe('564')
  })

  test('ends a term that it makes useless, and the next one begins above', () => {
    const elector = new PureElector().lead()
    elector.passTo(1500)
    const { record } = elector.stored(3n)
    const raised = { kind: 'present', version: 3n, deleting: false, record: withLeastEpoch(record, 700n) } as const
    expect(kinds(elector.observe(raised))).toEqual(['end-term', 'close-gate', 'hard-abort'])
    expect(kinds(elector.send({ kind: 'drained' }))).toContain('write')
    elector.acknowledge(4n)
    expect(elector.as('leading').epoch).toBe(701n)
  })

  test.each(['', '0', '-1', '1.5', 'x', '9223372036854775807', '1e9', '12345678901234567890'])(
    'is ignored where it is not a number that can be one: %j',
    (text) => {
      const { record, ...rest } = lease({ version: 5n })
      expect(epochOf({ ...rest, record: { ...record, annotations: { 'tenure.dev/least-epoch': text } } })).toBe(5n)
    },
  )

  test('grows with a transfer that the version of the store does not lift above it', () => {
    const elector = new PureElector()
    elector.follow(at(28n, 563n))
    elector.acknowledge(29n)
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0, to: 'other', answerTimeoutMs: 5000 })
    elector.passTo(10)
    elector.acknowledge(30n)
    const offered = elector.stored(31n)
    const { holderIdentity: holder, acquireTime: of } = offered.record
    const answer = JSON.stringify({ holder, of, identity: 'other', nonce: 'n' })
    const annotations = { ...offered.record.annotations, 'tenure.dev/transfer-answer': answer }
    elector.observe({ ...offered, record: { ...offered.record, annotations } })
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'transfer', record: { holderIdentity: 'other' } })
    expect(elector.lastWrite.write.record.annotations['tenure.dev/least-epoch']).toBe('565')
    expect(ME).not.toBe('other')
  })
})
