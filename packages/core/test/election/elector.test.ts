import { HOSTILE_VALUES } from '../support/hostile-values.ts'
import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { Elector, type TermEffect } from '../../src/election/elector.ts'
import { traceChannel } from '../../src/election/trace/trace-channel.ts'
import { LockRequestError } from '../../src/lock/lock-request-error.ts'
import type { Departure, LockObserver, LockWatch } from '../../src/lock/lock.ts'
import { ScriptedLock } from '../support/scripted-lock.ts'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import { readStandbys } from '../../src/election/rules/standby-note.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import { CONFIG, kinds, lease } from './pure-elector.ts'

class Stand {
  readonly clock = new VirtualClock()
  readonly effects: TermEffect[] = []
  readonly deaths: unknown[] = []
  readonly elector: Elector
  readonly lock: ScriptedLock
  readonly states: string[] = []

  constructor(lock = new ScriptedLock(), onEffect: (effect: TermEffect) => void = () => {}) {
    this.lock = lock
    this.elector = new Elector({
      lease: 'lease',
      lock,
      config: CONFIG,
      clock: this.clock,
      random: () => 0,
      onEffect: (effect) => {
        this.effects.push(effect)
        onEffect(effect)
      },
      onState: ({ kind }) => this.states.push(kind),
      onDied: (cause) => this.deaths.push(cause),
    })
  }

  async lead(): Promise<this> {
    this.elector.start()
    this.lock.show(lease({ version: 1n, holderIdentity: '' }))
    this.lock.observers[0]?.up()
    this.lock.store(2n)
    await this.clock.runAllMicrotasks()
    expect(this.elector.state.kind).toBe('leading')
    return this
  }
}

describe('Elector', () => {
  test('does nothing before it is started', async () => {
    const { clock, lock, elector } = new Stand()
    await clock.advance(60_000)
    expect(lock.observers).toEqual([])
    expect(elector.state.kind).toBe('idle')
  })

  test('hears a watch that reports before `watch()` has returned', () => {
    const eager = new (class extends ScriptedLock {
      override watch(observer: LockObserver): LockWatch {
        const watch = super.watch(observer)
        observer.changed(lease({ version: 1n }))
        observer.up()
        return watch
      }
    })()
    const { elector } = new Stand(eager)
    elector.start()
    expect(elector.state).toMatchObject({
      kind: 'following',
      observation: { kind: 'present' },
      memory: { watch: 'up' },
    })
  })

  test('acts at once on the news that its place is being stopped', async () => {
    const departure = new (class implements Departure {
      state: Departure['state']
      changed = (): void => {}

      watch(changed: () => void): LockWatch {
        this.changed = changed
        return { close: () => Promise.resolve() }
      }
    })()
    const { elector } = await new Stand(Object.assign(new ScriptedLock(), { departure })).lead()
    departure.state = 'stopping'
    departure.changed()
    expect(elector.state).toMatchObject({ kind: 'leading', departure: { at: 1000, isDue: false } })
  })

  test('says what has changed of its replica as soon as it hears so, if it follows a strategy', () => {
    const lock = new ScriptedLock()
    const strategy = {
      name: 'OldestEmulationVersion',
      version: 1,
      compare: undefined,
      binaryVersion: '1.36.0',
      emulationVersion: '1.36.0',
    }
    const written = (config: Partial<ElectorConfig>) => {
      let isReady = false
      const elector = new Elector({
        lease: 'lease',
        lock,
        config: { ...CONFIG, announceAfterMs: 0, ...config },
        clock: new VirtualClock(),
        random: () => 0,
        isReady: () => isReady,
        facts: () => ({ attributes: { room: 1 }, isCold: true }),
        onEffect: () => {},
        onState: () => {},
        onDied: (cause) => {
          throw cause
        },
      })
      const before = lock.requests.length
      elector.start()
      const held = lease({ version: 1n })
      lock.show({ ...held, record: withStandbys(held.record, []) })
      expect(lock.requests).toHaveLength(before)
      isReady = true
      elector.factsChanged()
      expect(lock.requests).toHaveLength(before + 1)
      return lock.last.record && readStandbys(lock.last.record)
    }
    expect(written({ strategy })).toMatchObject([{ identity: 'me', attributes: { room: 1 }, warm: false }])
    expect(written({})?.[0]).not.toHaveProperty('attributes')
    expect(written({})?.[0]).not.toHaveProperty('warm')
  })

  test('tells a coordinator of the lock from when it stands', () => {
    const stood: (number | undefined)[] = []
    const coordinator = {
      state: 'server',
      preferred: undefined,
      stand: (from: number | undefined) => void stood.push(from),
      watch: () => ({ close: () => Promise.resolve() }),
    } as const
    const { lock, elector } = new Stand(Object.assign(new ScriptedLock(), { coordinator }))
    elector.start()
    lock.show(lease({ version: 1n }))
    expect(stood.at(-1)).toBe(0)
    elector.stop()
    expect(stood.at(-1)).toBeUndefined()
  })

  test('takes a free lease and begins a term', async () => {
    const { effects } = await new Stand().lead()
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', epoch: 2n, validUntil: 14_250, handoverMs: 0 }),
    )
  })

  test('carries out one event to its end before it handles what that led to', async () => {
    const stand: Stand = new Stand(new ScriptedLock(), ({ kind }) => {
      if (kind === 'begin-term') stand.elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
    })
    stand.elector.start()
    stand.lock.show(lease({ version: 1n, holderIdentity: '' }))
    stand.lock.store(2n)
    await stand.clock.runAllMicrotasks()
    expect(stand.states.slice(-2)).toEqual(['leading', 'draining'])
  })

  test('renews on time', async () => {
    const { clock, lock, elector } = await new Stand().lead()
    await clock.advance(1999)
    expect(lock.requests).toHaveLength(1)
    await clock.advance(1)
    expect(lock.last).toMatchObject({ kind: 'update', base: { version: 2n } })
    lock.store(3n)
    await clock.runAllMicrotasks()
    expect(elector.state).toMatchObject({ kind: 'leading', hold: { validUntil: 16_250 } })
  })

  test('aborts a request that is not answered within the request timeout, and reads back what became of it', async () => {
    const { clock, lock, effects } = await new Stand().lead()
    await clock.advance(2000)
    const renewal = lock.last
    await clock.advance(2499)
    expect(renewal.signal.aborted).toBe(false)
    await clock.advance(1)
    expect(renewal.signal.aborted).toBe(true)
    expect(effects).toContainEqual({
      kind: 'request-failed',
      purpose: 'renew',
      error: new LockRequestError('unknown-outcome', 'The lease request was not answered within 2500 ms'),
    })
    expect(lock.last.kind).toBe('get')
  })

  test('grants nothing for an answer that came late by the clock although no timer has fired', async () => {
    const { clock, lock, effects } = await new Stand().lead()
    await clock.advance(2000)
    clock.stall(2501)
    lock.store(3n)
    await clock.runAllMicrotasks()
    expect(effects.filter(({ kind }) => kind === 'extend-validity')).toEqual([])
    expect(lock.last.kind).toBe('get')
  })

  test('counts an answer that came in the last moment of the request timeout', async () => {
    const { clock, lock, effects } = await new Stand().lead()
    await clock.advance(2000)
    clock.stall(2500)
    lock.store(3n)
    await clock.runAllMicrotasks()
    expect(effects).toContainEqual({ kind: 'extend-validity', validUntil: 16_250 })
  })

  test('takes no news in at the renew deadline, after a pause of its process, before it ends its term', async () => {
    const { clock, lock, effects } = await new Stand().lead()
    clock.stall(CONFIG.timing.renewDeadlineMs)
    lock.show(lease({ version: 3n }))
    expect(effects).toContainEqual(expect.objectContaining({ kind: 'end-term', reason: 'stalled' }))
  })

  test.each([
    { lateMs: 2000, reason: 'superseded' },
    { lateMs: 2001, reason: 'stalled' },
  ])(
    'takes news in that comes $lateMs ms after its deadline, while that is no later than a retry period',
    async (stall) => {
      const { clock, lock, effects } = await new Stand().lead()
      await clock.advance(9999)
      clock.stall(1 + stall.lateMs)
      lock.show(lease({ version: 3n }))
      expect(effects).toContainEqual(expect.objectContaining({ kind: 'end-term', reason: stall.reason }))
    },
  )

  test('leads on after a pause of its process that ends before its deadline', async () => {
    const { clock, lock, elector } = await new Stand().lead()
    clock.stall(9999)
    lock.observers[0]?.up()
    expect(elector.state.kind).toBe('leading')
  })

  test('renews before it hears news when it wakes late: only a follower lets others be faster', async () => {
    const { clock, lock } = await new Stand().lead()
    const sent: number[] = []
    clock.setTimer(2010, () => sent.push(lock.requests.length))
    clock.stall(2020)
    await clock.advance(0)
    expect(sent).toEqual([2])
  })

  test('takes a lease also when it wakes late, if no news came meanwhile', async () => {
    const { clock, lock, elector } = new Stand()
    elector.start()
    lock.show(lease({ version: 1n }))
    lock.observers[0]?.up()
    clock.stall(15_100)
    await clock.advance(0)
    expect(lock.requests.map(({ kind }) => kind)).toEqual(['update'])
  })

  test('is woken in time for what an event makes due earlier', async () => {
    const { clock, lock, elector } = await new Stand().lead()
    elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
    await clock.advance(24)
    expect(lock.requests).toHaveLength(1)
    await clock.advance(1)
    expect(lock.requests).toHaveLength(2)
  })

  test('is not woken at the time that an event has put off', async () => {
    const { clock, lock, elector, states } = new Stand()
    elector.start()
    lock.show(lease({ version: 1n }))
    lock.observers[0]?.up()
    await clock.advance(10_000)
    lock.show(lease({ version: 2n, renewTime: '2026-01-01T11:00:10.000000Z' }))
    const { length } = states
    await clock.advance(14_999)
    expect(states).toHaveLength(length)
    await clock.advance(1)
    expect(elector.state.kind).toBe('acquiring')
  })

  test('renews soon after its machine was suspended, although its timer has not moved', async () => {
    const { clock, lock } = await new Stand().lead()
    clock.suspend(5000)
    await clock.advance(100)
    expect(lock.requests).toHaveLength(2)
  })

  test('counts from the send when it reads a late renewal back', async () => {
    const { clock, lock, elector } = await new Stand().lead()
    await clock.advance(2000)
    clock.stall(2501)
    const renewed = lock.store(3n)
    await clock.runAllMicrotasks()
    lock.last.resolve(renewed)
    await clock.runAllMicrotasks()
    expect(elector.state).toMatchObject({ kind: 'leading', hold: { validUntil: 16_250 } })
  })

  test('begins no term on an acquiring write whose answer came late, but does when it is read back in time', async () => {
    const { clock, lock, elector, effects } = new Stand()
    elector.start()
    lock.show(lease({ version: 1n, holderIdentity: '' }))
    clock.stall(2501)
    const acquired = lock.store(2n)
    await clock.runAllMicrotasks()
    expect(kinds(effects)).not.toContain('begin-term')
    lock.last.resolve(acquired)
    await clock.runAllMicrotasks()
    expect(effects).toContainEqual(
      expect.objectContaining({ kind: 'begin-term', epoch: 2n, validUntil: 14_250, handoverMs: 2501 }),
    )
  })

  test('reports a read that failed, and reads again', async () => {
    const { clock, lock, effects } = await new Stand().lead()
    await clock.advance(2000)
    lock.last.reject(new LockRequestError('unknown-outcome', 'cut off'))
    await clock.runAllMicrotasks()
    const error = new LockRequestError('unreachable', 'no route')
    lock.last.reject(error)
    await clock.advance(500)
    expect(effects).toContainEqual({ kind: 'request-failed', purpose: 'read', error })
    expect(lock.requests.map(({ kind }) => kind)).toEqual(['update', 'update', 'get', 'update'])
  })

  test('takes an error that no lock should throw for an unknown outcome', async () => {
    const { clock, lock } = await new Stand().lead()
    await clock.advance(2000)
    lock.last.reject(new TypeError('fetch failed'))
    await clock.runAllMicrotasks()
    expect(lock.last.kind).toBe('get')
  })

  test.each(Object.entries(HOSTILE_VALUES))(
    'takes %s that a lock rejects with for an unknown outcome',
    async (_, make) => {
      const { clock, lock, effects } = await new Stand().lead()
      await clock.advance(2000)
      lock.last.reject(make() as Error)
      await clock.runAllMicrotasks()
      expect(lock.last.kind).toBe('get')
      expect(effects).toContainEqual({ kind: 'request-failed', purpose: 'renew', error: expect.any(Error) })
    },
  )

  test('takes a failure that it does not know for an unknown outcome', async () => {
    const { clock, lock } = await new Stand().lead()
    await clock.advance(2000)
    lock.last.reject(new LockRequestError('exploded' as 'conflict', 'boom'))
    await clock.runAllMicrotasks()
    expect(lock.last.kind).toBe('get')
  })

  test('takes a lock that throws instead of rejecting for a failed request', async () => {
    const throwing = new (class extends ScriptedLock {
      override update(): never {
        throw new LockRequestError('forbidden', 'no')
      }
    })()
    const { lock, clock, elector, effects } = new Stand(throwing)
    elector.start()
    lock.show(lease({ version: 1n, holderIdentity: '' }))
    await clock.runAllMicrotasks()
    expect(effects).toContainEqual(expect.objectContaining({ kind: 'request-failed', purpose: 'acquire' }))
    expect(elector.state).toMatchObject({ kind: 'following', outstanding: [] })
  })

  test('handles an event that is caused by an effect after that effect, never inside it', async () => {
    const stand: Stand = new Stand(new ScriptedLock(), (effect) => {
      if (effect.kind === 'begin-term') stand.elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
      if (effect.kind === 'end-term') stand.elector.drained()
    })
    stand.elector.start()
    stand.lock.show(lease({ version: 1n, holderIdentity: '' }))
    stand.lock.store(2n)
    await stand.clock.runAllMicrotasks()
    expect(kinds(stand.effects)).toEqual(['leader-observed', 'leader-observed', 'begin-term', 'end-term'])
    expect(stand.elector.state.kind).toBe('releasing')
  })

  test('leaves no watch, request or timer behind when it has stopped', async () => {
    const { clock, lock, elector, effects } = new Stand()
    elector.start()
    await clock.advance(2500)
    expect(lock.last.kind).toBe('get')
    elector.stop()
    await elector.closed()
    await clock.runAllMicrotasks()
    expect(kinds(effects)).toEqual(['stopped'])
    expect(lock.last.signal.reason).toEqual(new Error('The elector has stopped'))
    expect(lock.watchesClosed).toBe(1)
    expect(clock.pendingTimers).toBe(0)
  })

  test('releases after a stop while leading, when the term is empty', async () => {
    const { clock, lock, elector, effects } = await new Stand().lead()
    elector.stop()
    await clock.advance(2000)
    lock.store(3n)
    await clock.runAllMicrotasks()
    elector.drained()
    expect(lock.last).toMatchObject({ kind: 'update', base: { version: 3n }, record: { holderIdentity: '' } })
    lock.store(4n)
    await clock.runAllMicrotasks()
    expect(kinds(effects)).toContain('stopped')
    expect(clock.pendingTimers).toBe(0)
  })

  test.each([
    { lateMs: 10, news: 'a little late', sent: ['update'] },
    { lateMs: 11, news: 'late', sent: [] },
  ])('woken $news, takes in what came meanwhile before it takes a lease only if that is late', async (wake) => {
    const { clock, lock, elector } = new Stand()
    elector.start()
    lock.show(lease({ version: 1n }))
    lock.observers[0]?.up()
    await clock.advance(14_000)
    // Arrives while the event loop is busy, and is handled after the timer that is overdue.
    clock.setTimer(1000 + wake.lateMs / 2, () => lock.show(lease({ version: 2n, holderIdentity: 'third' })))
    clock.stall(1000 + wake.lateMs)
    await clock.advance(0)
    expect(lock.requests.map(({ kind }) => kind)).toEqual(wake.sent)
  })

  test('hears that the watch is down', async () => {
    const { lock, elector } = await new Stand().lead()
    lock.observers[0]?.down(new Error('disconnected'))
    expect(elector.state.memory.watch).toBe('down')
  })

  test('ends its term at once if told that it is lost', async () => {
    const { elector, effects } = await new Stand().lead()
    elector.lose('elector-failed')
    expect(effects.at(-1)).toEqual({ kind: 'end-term', reason: 'elector-failed', voluntary: false })
    expect(elector.state.kind).toBe('aborting')
  })

  test('drains a term of which only cleanups are left, if told so', async () => {
    const { elector } = await new Stand().lead()
    elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
    elector.cleaning()
    expect(elector.state).toMatchObject({ kind: 'draining', drain: { kind: 'cleaning' } })
  })

  test('reports the term as wedged when the cleanups of a controller are overdue', async () => {
    const { elector, effects } = await new Stand().lead()
    elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
    elector.cleanupOverdue()
    expect(kinds(effects)).toContain('wedged')
  })

  test('is closed only when its watch is', async () => {
    const closing = Promise.withResolvers<void>()
    const slow = new (class extends ScriptedLock {
      override watch(observer: LockObserver): LockWatch {
        super.watch(observer)
        return { close: () => closing.promise }
      }
    })()
    const { clock, elector } = new Stand(slow)
    elector.start()
    elector.stop()
    let isClosed = false
    void elector.closed().then(() => (isClosed = true))
    await clock.runAllMicrotasks()
    expect(isClosed).toBe(false)
    closing.resolve()
    await clock.runAllMicrotasks()
    expect(isClosed).toBe(true)
  })

  test('publishes its steps with its lock and its clock to those that subscribe', () => {
    const { clock, lock, elector } = new Stand()
    const steps: unknown[] = []
    const subscriber = (step: unknown): void => void steps.push(step)
    traceChannel.subscribe(subscriber)
    elector.start()
    traceChannel.unsubscribe(subscriber)
    elector.stop()
    expect(steps).toEqual([
      expect.objectContaining({ elector: { lock: lock.description, clock }, event: { kind: 'start' } }),
    ])
  })

  test('that drains ends its term before it hears news at the renew deadline, after a pause of its process', async () => {
    const { clock, lock, elector, effects } = await new Stand().lead()
    elector.stepDown({ reason: 'step-down', cooldownMs: 0 })
    clock.stall(CONFIG.timing.renewDeadlineMs)
    lock.show(lease({ version: 3n }))
    expect(effects).toContainEqual(expect.objectContaining({ kind: 'end-term', reason: 'stalled' }))
  })

  test('opens no watch if it fails when it starts', () => {
    const lock = new ScriptedLock()
    const deaths: Error[] = []
    const elector = new Elector({
      lease: 'lease',
      lock,
      config: CONFIG,
      clock: new VirtualClock(),
      random: () => {
        throw new Error('no random number')
      },
      onEffect: () => {},
      onState: () => {},
      onDied: (error) => deaths.push(error),
    })
    elector.start()
    expect(deaths).toMatchObject([{ message: 'The elector of `lease` died', cause: new Error('no random number') }])
    expect(elector.death).toBe(deaths[0])
    expect(lock.observers).toEqual([])
  })

  test('is alive while its timer is on time, and says by how much it is late otherwise', async () => {
    const { clock, elector } = await new Stand().lead()
    await clock.advance(1000)
    expect(() => elector.assertAlive()).not.toThrow()
    clock.stall(3000)
    expect(() => elector.assertAlive()).not.toThrow()
    clock.stall(1)
    expect(() => elector.assertAlive()).toThrow('the elector is 2001 ms overdue')
  })

  test('that fails itself tells so once, closes its watch and leaves no timer', async () => {
    const { clock, lock, elector, deaths, states } = new Stand(new ScriptedLock(), (effect) => {
      if (effect.kind === 'begin-term') throw new Error('broken driver')
    })
    elector.start()
    lock.show(lease({ version: 1n, holderIdentity: '' }))
    lock.store(2n)
    await clock.runAllMicrotasks()
    await clock.advance(60_000)
    expect(deaths).toMatchObject([{ cause: new Error('broken driver') }])
    expect(() => elector.assertAlive()).toThrow('The elector of `lease` died')
    const { length } = states
    elector.stop()
    expect(states).toHaveLength(length)
    expect(elector.state.kind).toBe('stopped')
    expect(lock.watchesClosed).toBe(1)
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('Two electors whose clocks differ by the tolerated rate', () => {
  test('are never valid at the same moment when the slow one leads and dies', async () => {
    const slow = new VirtualClock({ rate: 1 })
    const fast = slow.createPeer({ rate: 1.05 })
    const validFor = 15_000 * 0.95
    const ends: [string, number][] = []
    slow.setTimer(validFor, () => ends.push(['leader is over', slow.now()]))
    fast.setTimer(15_000, () => ends.push(['follower may take it', slow.now()]))
    await slow.advance(20_000)
    expect(ends.map(([what]) => what)).toEqual(['leader is over', 'follower may take it'])
  })
})
