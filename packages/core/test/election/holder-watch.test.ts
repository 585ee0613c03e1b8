import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { Elector, type TermEffect } from '../../src/election/elector.ts'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { watchedHolder } from '../../src/election/phases/following.ts'
import { readProcessRef, withProcessRef } from '../../src/election/rules/transfer-notes.ts'
import type { HolderObserver, LeaseHolder, LockWatch } from '../../src/lock/lock.ts'
import { ScriptedLock } from '../support/scripted-lock.ts'
import { CONFIG, lease, PureElector } from './pure-elector.ts'

/** A lock that can watch the process of a holder. */
class WatchingLock extends ScriptedLock {
  processRef: string | undefined
  failure: Error | undefined
  readonly opened: LeaseHolder[] = []
  readonly holders = new Map<LeaseHolder, HolderObserver>()

  watchHolder(holder: LeaseHolder, observer: HolderObserver): LockWatch {
    if (this.failure !== undefined) throw this.failure
    this.opened.push(holder)
    this.holders.set(holder, observer)
    return {
      close: async () => {
        this.holders.delete(holder)
      },
    }
  }

  /** Says of every watched process that it has ended. */
  die(): void {
    for (const { dead } of this.holders.values()) dead()
  }
}

function stand() {
  const lock = new WatchingLock()
  const effects: TermEffect[] = []
  const clock = new VirtualClock()
  const elector = new Elector({
    lease: 'lease',
    lock,
    config: CONFIG,
    clock,
    random: () => 0,
    onEffect: (effect) => effects.push(effect),
    onState: () => {},
    onDied: (cause) => {
      throw cause
    },
  })
  return { lock, effects, clock, elector }
}

/** The lease of another replica that runs in `processRef`. */
function held(version: bigint, processRef: string | undefined, acquireTime = '2026-01-01T11:00:00.000000Z') {
  const { record } = lease({ version, acquireTime })
  return { kind: 'present', version, deleting: false, record: withProcessRef(record, processRef) } as const
}

describe('An elector', () => {
  test('watches the process of the holder it follows, and takes the lease at once when that has ended', () => {
    const { lock, elector } = stand()
    elector.start()
    lock.show(held(1n, 'pod/container'))
    expect(lock.opened).toEqual([
      { identity: 'other', acquireTime: '2026-01-01T11:00:00.000000Z', processRef: 'pod/container' },
    ])
    lock.die()
    expect(lock.last).toMatchObject({ kind: 'update', base: { version: 1n } })
    expect(lock.holders.size).toBe(0)
  })

  test('keeps the one watch while the holder renews, and changes it with the holder', () => {
    const { lock, elector } = stand()
    elector.start()
    lock.show(held(1n, 'first'))
    lock.show(held(2n, 'first'))
    expect(lock.opened).toHaveLength(1)
    lock.show(held(3n, 'second', '2026-01-01T11:10:00.000000Z'))
    expect([...lock.holders.keys()]).toMatchObject([{ processRef: 'second' }])
    lock.show(held(4n, undefined, '2026-01-01T11:10:00.000000Z'))
    expect(lock.holders.size).toBe(0)
  })

  test.each([
    ['identity', { holderIdentity: 'third' }, 'first'],
    ['acquire time', { acquireTime: '2026-01-01T11:10:00.000000Z' }, 'first'],
    ['process', {}, 'second'],
  ])('changes the watch with the %s alone of the holder', (_field, change, processRef) => {
    const { lock, elector } = stand()
    elector.start()
    lock.show(held(1n, 'first'))
    const { record } = lease({ version: 2n, ...change })
    lock.show({ ...held(2n, 'first'), record: withProcessRef(record, processRef) })
    expect(lock.opened).toHaveLength(2)
    expect(lock.holders.size).toBe(1)
  })

  test('watches no process for which an earlier holder of the same name vouched', () => {
    const { lock, elector } = stand()
    const earlier = held(1n, 'first')
    elector.start()
    lock.show({ ...earlier, record: { ...earlier.record, acquireTime: '2026-01-01T11:20:00.000000Z' } })
    expect(lock.opened).toEqual([])
  })

  test('watches nobody while it leads or once it has stopped', async () => {
    const { lock, elector, clock } = stand()
    elector.start()
    lock.show(held(1n, 'first'))
    lock.observers[0]?.up()
    lock.show(lease({ version: 2n, holderIdentity: '', acquireTime: '2026-01-01T11:30:00.000000Z' }))
    expect(lock.holders.size).toBe(0)
    lock.store(3n)
    await clock.runAllMicrotasks()
    expect(elector.state.kind).toBe('leading')
    lock.show(held(4n, 'second'))
    elector.drained()
    expect(lock.holders.size).toBe(1)
    elector.stop()
    expect(lock.holders.size).toBe(0)
    await elector.closed()
  })

  test('says in the lease where it runs, as soon as that is known', async () => {
    const { lock, elector, clock } = stand()
    elector.start()
    lock.show(lease({ version: 1n, holderIdentity: '' }))
    expect(lock.last.record && readProcessRef(lock.last.record)).toBeUndefined()
    lock.store(2n)
    await clock.runAllMicrotasks()
    lock.processRef = 'pod/container'
    await clock.advance(2000)
    expect(lock.last.record && readProcessRef(lock.last.record)).toBe('pod/container')
  })

  test('goes on without the watch when it cannot be opened', () => {
    const { lock, elector, effects } = stand()
    lock.failure = new Error('no right to read Pods')
    elector.start()
    lock.show(held(1n, 'first'))
    lock.show(held(2n, 'first'))
    expect(effects).toMatchObject([
      { kind: 'leader-observed' },
      { kind: 'request-failed', error: { message: 'no right to read Pods' } },
    ])
    expect(elector.state.kind).toBe('following')
  })
})

describe('A replica watches no process', () => {
  const heldIn = (config: Partial<ElectorConfig> = {}) => {
    const elector = new PureElector(config)
    elector.follow(held(1n, 'pod/container'))
    return elector
  }
  const watchedBy = ({ state, config }: PureElector) => watchedHolder(state, config)

  test('of a lease for life that is free', () => {
    const free = (version: bigint) => lease({ version, holderIdentity: '' })
    const elector = new PureElector({ heldForLife: true, neverLeads: true })
    elector.follow(free(1n))
    expect(watchedBy(elector)).toBeUndefined()
    elector.observe(lease({ version: 2n }))
    expect(watchedBy(elector)).toMatchObject({ identity: 'other', processRef: '' })
  })

  test('that is proved dead', () => {
    const elector = heldIn({ neverLeads: true })
    expect(watchedBy(elector)).toMatchObject({ processRef: 'pod/container' })
    elector.send({ kind: 'holder-dead', holder: { identity: 'other', acquireTime: '2026-01-01T11:00:00.000000Z' } })
    expect(watchedBy(elector)).toBeUndefined()
  })

  test('that is its own', () => {
    const elector = new PureElector({ processRef: 'pod/container' }).lead()
    elector.config = { ...elector.config, neverLeads: true, releaseOnExit: false }
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
    elector.send({ kind: 'drained' })
    elector.as('following')
    expect(watchedBy(elector)).toBeUndefined()
  })

  test('while it takes the lease, or has to stop', () => {
    const elector = heldIn()
    elector.passTo(15_000)
    elector.as('acquiring')
    expect(watchedBy(elector)).toBeUndefined()
    elector.failWrite('unknown-outcome')
    elector.as('following')
    expect(watchedBy(elector)).toMatchObject({ identity: 'other' })
    elector.send({ kind: 'stop' })
    elector.as('following')
    expect(watchedBy(elector)).toBeUndefined()
  })
})
