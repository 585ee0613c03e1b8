import { describe, expect, test } from 'vitest'
import { explain } from '../../src/candidacy/explain.ts'
import { forLife } from '../../src/election/machine/config.ts'
import { watchedHolder } from '../../src/election/phases/following.ts'
import { reservingStep, withDeathOfReplaced } from '../../src/election/phases/reserving.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { readOffer } from '../../src/election/rules/transfer-notes.ts'
import { CONFIG, lease, ME, PureElector } from './pure-elector.ts'

const HOUR_MS = 3_600_000
const { leaseDurationMs } = CONFIG.timing

function stand(): PureElector {
  return new PureElector(forLife({ ...CONFIG, missingLease: undefined }))
}

function explained(elector: PureElector): string {
  const context = { config: elector.config, now: elector.now, tasks: [], lastProblem: undefined }
  return explain(elector.state, context)
}

/** What a release changes. */
const RELEASED = {
  holderIdentity: '',
  leaseDurationSeconds: 1,
  acquireTime: '2026-01-01T12:00:01.000000Z',
  renewTime: '2026-01-01T12:00:01.000000Z',
}

describe('A lease that is held for life', () => {
  test('does not expire, however long it does not change', () => {
    const elector = stand()
    elector.follow(lease({ version: 1n }))
    elector.passTo(24 * HOUR_MS)
    expect(elector.all('write')).toEqual([])
    expect(watchedHolder(elector.state, elector.config)).toMatchObject({ identity: 'other', processRef: '' })
    expect(explained(elector)).toBe(
      'It follows other, which holds the lease for life. It can be acquired when that replica releases it, when its container has ended, ' +
        'or when the lease is deleted. After a deletion, the next leader waits 15.0 s before it acts.',
    )
  })

  test('is acquired at once when its holder is proved dead, and led without a wait', () => {
    const elector = stand()
    const held = lease({ version: 1n })
    elector.follow(held)
    const holder = { identity: 'other', acquireTime: held.record.acquireTime }
    elector.send({ kind: 'holder-dead', holder })
    elector.acknowledge(2n)
    elector.as('leading')
  })

  test('is acquired at once when it has no holder', () => {
    stand().lead()
  })

  test('of which somebody clears the holder, long after it changed last, is acquired only after a lease duration', () => {
    const elector = stand()
    const held = lease({ version: 1n })
    elector.follow(held)
    elector.passTo(HOUR_MS)
    elector.observe({ ...held, version: 2n, record: { ...held.record, holderIdentity: '' } })
    elector.passTo(HOUR_MS + leaseDurationMs - 1)
    expect(elector.all('write')).toEqual([])
    elector.passTo(HOUR_MS + leaseDurationMs + 1000)
    elector.acknowledge(3n)
    elector.as('leading')
  })

  test('is held for a lease duration before the replica that creates it acts, also at the first start', () => {
    const elector = stand()
    elector.follow({ kind: 'absent' })
    elector.acknowledge(2n)
    expect(elector.as('reserving').actAt).toBe(leaseDurationMs)
    expect(explained(elector)).toBe(
      'It holds the lease but must not act for another 15.0 s, because nothing proves that the container of the previous holder has ended.',
    )
  })

  test('is held for the duration of the longest holder that was seen, if that is longer, before the replica that creates it acts', () => {
    const elector = stand()
    elector.follow(lease({ version: 1n, leaseDurationSeconds: 60 }))
    elector.observe(lease({ version: 2n, holderIdentity: 'another', leaseDurationSeconds: 4 }))
    elector.passTo(HOUR_MS)
    elector.observe({ kind: 'absent', version: 3n })
    elector.acknowledge(4n)
    expect(elector.as('reserving').actAt).toBe(HOUR_MS + 60_000)
  })

  test.each([
    ['whose last holder is proved dead', {}, true, 'leading'],
    ['that was released', RELEASED, false, 'leading'],
    ['of which somebody has cleared the holder', { holderIdentity: '' }, false, 'reserving'],
    [
      'of which somebody has cleared the holder and shortened the duration',
      { holderIdentity: '', leaseDurationSeconds: 1 },
      false,
      'reserving',
    ],
    ['whose last holder may still run', {}, false, 'reserving'],
    ['whose last holder is another one than the dead', { holderIdentity: 'another' }, true, 'reserving'],
  ] as const)('is created directly after the deletion of one %s', (_which, change, isDead, then) => {
    const elector = stand()
    const held = lease({ version: 1n })
    elector.follow(held)
    const replaced = { ...held.record, ...change }
    if (isDead) {
      // It acquires the lease, but the garbage collector is faster.
      elector.send({ kind: 'holder-dead', holder: { identity: 'other', acquireTime: held.record.acquireTime } })
    } else elector.observe({ ...held, version: 2n, record: replaced })
    elector.observe({ kind: 'absent', version: 3n })
    if (elector.lastWrite.write.base !== undefined) elector.failWrite('not-found')
    expect(elector.lastWrite.write.base).toBeUndefined()
    elector.answerWrite({ kind: 'written', lease: { ...elector.stored(4n), replaced } })
    elector.as(then)
  })

  test.each([
    ['a held one', {}, 'reserving'],
    ['a released one', RELEASED, 'leading'],
    ['one of which somebody has cleared the holder', { holderIdentity: '' }, 'reserving'],
    [
      'one of which somebody has cleared the holder after another edit',
      { ...RELEASED, renewTime: '2026-01-01T12:00:09.000000Z' },
      'reserving',
    ],
  ] as const)(
    'that a replica creates that has never seen it, directly after the deletion of %s',
    (_which, change, then) => {
      const elector = stand()
      elector.follow({ kind: 'absent' })
      const replaced = { ...lease({ version: 1n }).record, ...change }
      elector.answerWrite({ kind: 'written', lease: { ...elector.stored(4n), replaced } })
      elector.as(then)
    },
  )

  test('of which somebody has cleared the holder long before, in a way that the replica did not see, is held before acting', () => {
    const elector = stand()
    const held = lease({ version: 1n })
    elector.follow(held)
    elector.passTo(HOUR_MS)
    elector.observe({ kind: 'absent', version: 3n })
    const replaced = { ...held.record, holderIdentity: '' }
    elector.answerWrite({ kind: 'written', lease: { ...elector.stored(4n), replaced } })
    elector.as('reserving')
  })

  test.each([
    ['as a release leaves it', RELEASED, 0],
    ['of which somebody has cleared the holder', { holderIdentity: '' }, leaseDurationMs],
  ] as const)(
    'without a holder, %s, may be acquired when the replica has seen it for long enough',
    (_how, change, ms) => {
      const elector = stand()
      const held = lease({ version: 1n })
      elector.follow({ ...held, record: { ...held.record, ...change } })
      if (ms > 0) {
        elector.passTo(ms - 1)
        expect(elector.all('write')).toEqual([])
      }
      elector.passTo(ms + 1000)
      expect(elector.all('write')).toHaveLength(1)
    },
  )

  describe('and that is created after its deletion, before its holder is proved dead', () => {
    const held = lease({ version: 1n })
    const { record } = held
    const holder = { identity: 'other', acquireTime: record.acquireTime }
    const create = () => {
      const elector = stand()
      elector.follow(held)
      elector.observe({ kind: 'absent', version: 2n, deleted: record })
      elector.as('acquiring')
      return elector
    }
    const created = (elector: PureElector, version: bigint) =>
      elector.answerWrite({ kind: 'written', lease: { ...elector.stored(version), replaced: record } })

    test('is led at once when the proof comes before the answer to the creation', () => {
      const elector = create()
      expect(watchedHolder(elector.state, elector.config)).toMatchObject(holder)
      elector.send({ kind: 'holder-dead', holder })
      created(elector, 3n)
      elector.as('leading')
    })

    test('is led as soon as the proof comes', () => {
      const elector = create()
      created(elector, 3n)
      elector.passTo(500)
      elector.as('reserving')
      expect(watchedHolder(elector.state, elector.config)).toMatchObject(holder)
      elector.send({ kind: 'holder-dead', holder: { ...holder, identity: 'another' } })
      elector.as('reserving')
      elector.send({ kind: 'holder-dead', holder })
      const { memory } = elector.as('leading')
      expect(memory.actNotBefore).toBeUndefined()
      expect(watchedHolder(elector.state, elector.config)).toBeUndefined()
    })

    test('is neither led nor released early while another leader may act, although the holder of before is dead', () => {
      const elector = create()
      created(elector, 3n)
      const state = elector.as('reserving')
      const at = { now: 500, wallTime: 500, random: 0 }
      const wait = (notBefore: number) =>
        withDeathOfReplaced({ ...state, replaced: { record, notBefore } }, holder, { at, config: elector.config })
      expect(wait(700)).toMatchObject({ actAt: 700, memory: { actNotBefore: 700 }, replaced: undefined })
      expect(wait(300)).toMatchObject({ actAt: 300, memory: { actNotBefore: undefined, deadHolder: holder } })
    })

    test('is not led once its deadline has come', () => {
      const elector = create()
      created(elector, 3n)
      const { hold, memory, ...state } = elector.as('reserving')
      const step = (deadlineAt: number) =>
        reservingStep(
          { ...state, memory, hold, actAt: 500 },
          { kind: 'held', memory, hold: { ...hold, deadlineAt }, effects: [] },
          { at: { now: 500, wallTime: 500, random: 0 }, config: elector.config },
        ).state.kind
      expect([step(501), step(500), step(499)]).toEqual(['leading', 'reserving', 'reserving'])
    })

    test('is not led before the wait for another leader ends', () => {
      const elector = create()
      // Nothing shows which lease came before.
      elector.answerWrite({ kind: 'written', lease: elector.stored(3n) })
      elector.passTo(500)
      elector.send({ kind: 'holder-dead', holder })
      const { actAt } = elector.as('reserving')
      elector.observe({ kind: 'absent', version: 4n, deleted: record })
      created(elector, 5n)
      elector.send({ kind: 'holder-dead', holder })
      expect(elector.as('reserving').actAt).toBe(actAt)
    })
  })

  test('is created and led at once where `missingLease` says so and nobody was seen to hold it', () => {
    const elector = new PureElector(forLife({ ...CONFIG, missingLease: 'create' }))
    elector.follow({ kind: 'absent' })
    elector.acknowledge(2n)
    elector.as('leading')
  })

  test('that names this identity, but not a term of this process, is held for a lease duration before it is led', () => {
    const elector = stand()
    elector.follow(lease({ version: 1n, holderIdentity: ME }))
    elector.passTo(leaseDurationMs + 1000)
    elector.acknowledge(2n)
    elector.as('reserving')
  })
})

describe('A leader for life', () => {
  test('explains that it leads for life, and for how long if it cannot read the lease', () => {
    expect(explained(stand().lead())).toMatch(
      /^It leads for life with epoch 2 and may act for \d+\.\d s even if no check of the lease succeeds\.$/,
    )
  })

  test('renews with the record that it holds, and counts from the send of what answers it', () => {
    const elector = stand().lead()
    elector.passTo(CONFIG.timing.retryPeriodMs + 1000)
    const { write } = elector.lastWrite
    expect(write.record).toBe(write.base?.record)
    const sentAt = elector.as('leading').hold.sentAt
    elector.answerWrite({ kind: 'written', lease: elector.stored(2n) })
    expect(elector.as('leading').hold.sentAt).toBeGreaterThan(sentAt)
  })

  test('goes on from the version that a check has read, which an edit by another client may have raised', () => {
    const elector = stand().lead()
    elector.passTo(CONFIG.timing.retryPeriodMs + 1000)
    elector.answerWrite({ kind: 'written', lease: elector.stored(9n) })
    expect(elector.as('leading').hold.lease.version).toBe(9n)
  })

  test('does not take an edit by another client for the answer', () => {
    const elector = stand().lead()
    elector.passTo(CONFIG.timing.retryPeriodMs + 1000)
    const before = elector.as('leading').hold
    const { record } = before.lease
    elector.observe({ kind: 'present', version: 3n, deleting: false, record: withStandbys(record, [], {}) })
    const { hold } = elector.as('leading')
    expect(hold.validUntil).toBe(before.validUntil)
    expect(hold.request.kind).toBe('writing')
    // The check was answered with an older version than the edit.
    elector.answerWrite({ kind: 'written', lease: elector.stored(2n) })
    expect(elector.as('leading').hold.lease.version).toBe(3n)
  })

  test('does not take a late view of the lease for the answer to a write that only offers it', () => {
    const elector = stand().lead()
    elector.passTo(CONFIG.timing.retryPeriodMs + 1000)
    elector.acknowledge(2n)
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.passTo(elector.now + 500)
    const { record } = elector.lastWrite.write
    expect(readOffer(record)).toBeDefined()
    const before = elector.as('draining').hold
    elector.passTo(elector.now + 500)
    // Another client has written it before the offer was sent.
    elector.observe({
      kind: 'present',
      version: 3n,
      deleting: false,
      record: withStandbys(before.lease.record, [], {}),
    })
    const { hold } = elector.as('draining')
    expect(hold.validUntil).toBe(before.validUntil)
    expect(hold.request.kind).toBe('writing')
    elector.observe({ kind: 'present', version: 4n, deleting: false, record })
    expect(elector.as('draining').hold.validUntil).toBeGreaterThan(before.validUntil)
  })

  test('only checks the lease while its offer stays as it is', () => {
    const elector = stand().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.passTo(1000)
    elector.acknowledge(3n)
    elector.passTo(elector.now + CONFIG.timing.retryPeriodMs)
    const { base, record } = elector.lastWrite.write
    expect(readOffer(record)).toBeDefined()
    expect(base?.record).toBe(record)
  })

  test('ends its term when the lease was deleted, and when nothing answers any more', () => {
    const deleted = stand().lead()
    deleted.passTo(CONFIG.timing.retryPeriodMs + 1000)
    deleted.failWrite('not-found')
    expect(deleted.as('aborting').reason).toBe('lease-deleted')
    const cutOff = stand().lead()
    cutOff.passTo(CONFIG.timing.renewDeadlineMs + 1)
    expect(cutOff.as('aborting').reason).toBe('renew-deadline')
  })

  test('waits before it acts in a store that was restored, although the lease that was deleted there had been released', () => {
    const elector = stand()
    elector.follow(lease({ version: 35n }))
    elector.send({ kind: 'watch-down' })
    elector.answerRead({ kind: 'absent', version: 15n })
    while (elector.state.kind === 'following') elector.passTo(elector.now + 250)
    const { record } = lease({ version: 14n })
    elector.answerWrite({ kind: 'written', lease: { ...elector.stored(16n), replaced: { ...record, ...RELEASED } } })
    expect(elector.as('reserving').actAt).toBe(elector.now + leaseDurationMs)
  })

  test('takes its own lease again, also when a renewal of unknown outcome has changed it', () => {
    const elector = stand().lead()
    elector.passTo(CONFIG.timing.renewDeadlineMs + 1)
    const { own } = elector.as('aborting').memory
    if (own === undefined) throw new Error('Expected the elector to remember its record')
    const renewTime = '2026-01-01T13:00:00.000000Z'
    elector.observe({ kind: 'present', version: 9n, deleting: false, record: { ...own, renewTime } })
    elector.send({ kind: 'drained' })
    expect(elector.lastWrite.write).toMatchObject({ purpose: 'acquire', base: { version: 9n } })
  })
})
