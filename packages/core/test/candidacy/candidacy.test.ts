import { describe, expect, test } from 'vitest'
import type { Controller } from '../../src/controller/controller.ts'
import { TerminalError } from '../../src/controller/terminal-error.ts'
import type { LockObserver } from '../../src/lock/lock.ts'
import type { Term } from '../../src/term/term.ts'
import { lease } from '../election/pure-elector.ts'
import { identityTaken } from '../../src/candidacy/identity-taken.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import { Replica, untilEnd } from '../support/replica.ts'

describe('A candidacy', () => {
  test('builds its controllers when it leads and not before', async () => {
    const leader = await new Replica({ identity: 'leader' }).runs(untilEnd).start()
    let built = 0
    const follower = new Replica({ identity: 'follower', store: leader.store, clock: leader.clock }).registers(() => {
      built += 1
      return { name: 'janitor', run: untilEnd }
    })
    await follower.start()
    await leader.clock.advance(60_000)
    expect(built).toBe(0)
    expect(follower.candidacy.state).toEqual({ kind: 'following', observedLeader: 'leader' })
    await leader.candidacy.stop()
    await leader.clock.advance(200)
    expect(built).toBe(1)
    expect(follower.candidacy.state).toMatchObject({ kind: 'leading' })
  })

  test('builds a new controller for every term', async () => {
    const built: Controller[] = []
    const replica = await new Replica()
      .registers(() => {
        const controller = { name: 'janitor', run: untilEnd }
        built.push(controller)
        return controller
      })
      .start()
    for (let round = 0; round < 3; round++) {
      void replica.candidacy.stepDown({ cooldownMs: 0 })
      await replica.clock.advance(100)
    }
    expect(new Set(built).size).toBe(4)
  })

  test('builds a controller again in the same term when its factory threw as the term began', async () => {
    let builds = 0
    const replica = await new Replica()
      .registers(() => {
        builds += 1
        if (builds === 1) throw new Error('not now')
        return { name: 'janitor', run: untilEnd }
      })
      .start()
    await replica.clock.advance(1000)
    expect(builds).toBe(2)
    expect(replica.all('controller-failed')).toHaveLength(1)
    expect(replica.all('term-began')).toHaveLength(1)
  })

  test('begins the next term only when nothing of the one before is left', async () => {
    const work = Promise.withResolvers<void>()
    const log: string[] = []
    const replica = await new Replica()
      .runs(async (term) => {
        log.push(`begin ${term.epoch}`)
        term.defer(() => log.push(`end ${term.epoch}`))
        if (term.epoch === 1n) void term.spawn('slow', () => work.promise)
        await untilEnd(term)
      })
      .start()
    replica.store.delete('lease')
    await replica.clock.advance(9000)
    expect(replica.all('term-began')).toHaveLength(1)
    work.resolve()
    await replica.clock.advance(30_000)
    expect(log).toEqual(['begin 1', 'end 1', expect.stringMatching(/^begin /)])
    expect(replica.all('term-began').map(({ epoch }) => epoch > 0n)).toEqual([true, true])
  })

  test('tells the whole story of a term in events', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    await replica.clock.advance(2000)
    const result = replica.candidacy.stepDown({ cooldownMs: 1000 })
    await replica.clock.advance(100)
    expect(await result).toEqual({
      kind: 'stepped-down',
      epoch: 1n,
      outcome: 'released',
      successor: undefined,
      drain: 'clean',
      drainMs: 0,
      errors: [],
    })
    expect(replica.events.filter(({ kind }) => kind !== 'state')).toEqual([
      { lease: 'lease', kind: 'leader-observed', identity: '' },
      { lease: 'lease', kind: 'leader-observed', identity: 'me' },
      { lease: 'lease', kind: 'term-began', epoch: 1n, handoverMs: 0 },
      { lease: 'lease', kind: 'renewed', elapsedMs: 0, remainingMs: 14_250 },
      { lease: 'lease', kind: 'term-ending', epoch: 1n, reason: 'step-down' },
      {
        lease: 'lease',
        kind: 'term-over',
        epoch: 1n,
        reason: 'step-down',
        outcome: 'released',
        successor: undefined,
        drain: 'clean',
        durationMs: 2000,
        drainMs: 0,
        errors: [],
      },
      { lease: 'lease', kind: 'leader-observed', identity: '' },
    ])
    expect(replica.all('state').map(({ to }) => to.kind)).toEqual([
      'following',
      'acquiring',
      'leading',
      'draining',
      'releasing',
      'following',
    ])
  })

  test('measures every term from its own start', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    for (const lastsMs of [2000, 3000]) {
      await replica.clock.advance(lastsMs)
      void replica.candidacy.stepDown({ cooldownMs: 0 })
      await replica.clock.runAllMicrotasks()
    }
    expect(replica.all('term-over').map(({ durationMs }) => durationMs)).toEqual([2000, 3000])
  })

  test('goes on when a listener throws, and says so', async () => {
    const errors: unknown[] = []
    const replica = new Replica({
      logger: { ...silentLogger, error: (fields, message) => void errors.push({ ...fields, message }) },
      onEvent: () => {
        throw new Error('broken listener')
      },
    }).runs(untilEnd)
    await replica.start()
    await replica.clock.advance(20_000)
    expect(replica.failures).toEqual([])
    expect(errors).toContainEqual({
      lease: 'lease',
      event: 'term-began',
      err: new Error('broken listener'),
      message: 'a listener failed: broken listener',
    })
    expect(replica.candidacy.state.kind).toBe('leading')
  })

  test('writes what happens to the log, with the epoch of its term', async () => {
    const lines: unknown[] = []
    const replica = new Replica({
      logger: { ...silentLogger, debug: ({ event, epoch }, message) => void lines.push([event, epoch, message]) },
    }).runs(untilEnd)
    await replica.start()
    await replica.clock.advance(20_000)
    const [began] = replica.all('term-began')
    expect(began?.epoch).toBeDefined()
    expect(lines).toContainEqual(['renewed', began?.epoch, 'renewed'])
  })

  test('steps down only when it leads', async () => {
    const replica = new Replica()
    expect(await replica.candidacy.stepDown()).toEqual({ kind: 'not-leading' })
  })

  test('answers two concurrent step-downs with the one end that they have in common', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    const both = Promise.all([replica.candidacy.stepDown(), replica.candidacy.stepDown({ cooldownMs: 0 })])
    await replica.clock.advance(100)
    const [first, second] = await both
    expect(first).toMatchObject({ kind: 'stepped-down', outcome: 'released' })
    expect(second).toEqual(first)
    expect(replica.all('term-over')).toHaveLength(1)
  })

  test('leaves the lease to others for the cool-down after a step-down', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(4799)
    expect(replica.holder).toBe('')
    await replica.clock.advance(1)
    expect(replica.holder).toBe('me')
  })

  test('refuses options of a step-down that it does not know or that make no sense', async () => {
    const replica = new Replica()
    expect(() => replica.candidacy.stepDown({ cooldown: 1 } as never)).toThrow('did you mean `cooldownMs`')
    expect(() => replica.candidacy.stepDown({ cooldownMs: -1 })).toThrow('Expected `cooldownMs`')
  })

  test('steps down when a controller asks for it, also in its first line', async () => {
    const replica = await new Replica()
      .runs(async (term) => {
        if (term.epoch === 1n) term.stepDown({ cooldownMs: 500 })
        await untilEnd(term)
      })
      .start()
    await replica.clock.advance(499)
    expect(replica.all('term-over')).toMatchObject([{ reason: 'step-down', outcome: 'released' }])
    await replica.clock.advance(1)
    expect(replica.candidacy.state.kind).toBe('leading')
  })

  test('closes the write gate before the release is sent, so that nothing can be written beside the next leader', async () => {
    const terms: Term[] = []
    const replica = await new Replica()
      .runs((term) => {
        terms.push(term)
        return untilEnd(term)
      })
      .start()
    replica.lock.failure = 'unreachable'
    void replica.candidacy.stepDown()
    await replica.clock.runAllMicrotasks()
    expect(replica.candidacy.state.kind).toBe('releasing')
    expect(terms[0]?.isHeld()).toBe(false)
    expect(terms[0]?.gateSignal.reason).toMatchObject({ reason: 'step-down' })
  })

  test('keeps the write gate open while a voluntary end drains', async () => {
    const terms: Term[] = []
    const work = Promise.withResolvers<void>()
    const replica = await new Replica()
      .runs(async (term) => {
        terms.push(term)
        await work.promise
      })
      .start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(12_000)
    expect(terms[0]?.signal.aborted).toBe(true)
    expect(terms[0]?.isHeld()).toBe(true)
    work.resolve()
    await replica.clock.advance(10)
    expect(terms[0]?.isHeld()).toBe(false)
  })

  test('lets its term act for a shorter time when another client shortens the lease', async () => {
    const terms: Term[] = []
    const replica = await new Replica().runs((term) => (terms.push(term), untilEnd(term))).start()
    const stored = replica.store.read('lease')
    if (stored.kind === 'absent') throw new Error('Expected a lease')
    expect(replica.candidacy.remainingMs()).toBe(14_250)
    replica.store.write('lease', { ...stored.record, leaseDurationSeconds: 6 }, stored.version)
    await replica.clock.runAllMicrotasks()
    expect(replica.candidacy.remainingMs()).toBe(5700)
    replica.clock.stall(5699)
    expect(terms[0]?.isHeld()).toBe(true)
    replica.clock.stall(1)
    expect(terms[0]?.isHeld()).toBe(false)
  })

  test('closes the write gate at once when another replica has taken the lease, though its tasks still run', async () => {
    const terms: Term[] = []
    const stuck = Promise.withResolvers<void>()
    const replica = await new Replica().runs((term) => (terms.push(term), stuck.promise)).start()
    const stored = replica.store.read('lease')
    if (stored.kind === 'absent') throw new Error('Expected a lease')
    const acquireTime = '2026-01-01T00:00:01.000000Z'
    replica.store.write('lease', { ...stored.record, holderIdentity: 'other', acquireTime }, stored.version)
    await replica.clock.runAllMicrotasks()
    expect(replica.candidacy.liveTasks()).toHaveLength(1)
    expect(terms[0]?.gateSignal.reason).toMatchObject({ code: 'LEADERSHIP_ENDED', reason: 'superseded', epoch: 1n })
    stuck.resolve()
  })

  test('releases and closes its lock when it stops, and stops as often as one likes', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    await Promise.all([replica.candidacy.stop(), replica.candidacy.stop()])
    expect(replica.holder).toBe('')
    expect(replica.candidacy.state).toEqual({ kind: 'stopped' })
    expect(replica.lock.isClosed).toBe(true)
    expect(replica.clock.pendingTimers).toBe(0)
  })

  test('takes no controller after the start, and nothing that is no factory', async () => {
    const replica = new Replica()
    expect(() => replica.candidacy.register({} as never)).toThrow(
      'a function that builds a controller, got `{}` (object)',
    )
    expect(() => replica.candidacy.register(() => ({}) as never, { retries: 1 } as never)).toThrow('`retries`')
    await replica.start()
    expect(() => replica.candidacy.register(() => ({}) as never)).toThrow('to be called before `start()`')
  })

  test('fails when another process stands under its identity', async () => {
    const first = await new Replica({ identity: 'twin' }).runs(untilEnd).start()
    const second = await new Replica({ identity: 'twin', store: first.store, clock: first.clock }).start()
    await first.clock.advance(4000)
    expect(second.failures).toMatchObject([
      { code: 'BAD_OPTIONS', message: expect.stringContaining('`identity` to be unique') },
    ])
    await second.candidacy.stop()
    expect(first.candidacy.state.kind).toBe('leading')
  })

  test('fails when its elector dies, is unhealthy from then on, and ends its term', async () => {
    const replica = new Replica()
    const stuck = Promise.withResolvers<void>()
    await replica
      .runs(async (term) => {
        void term.spawn('stuck', () => stuck.promise)
        await untilEnd(term)
      })
      .start()
    replica.lock.watch = () => {
      throw new Error('unused')
    }
    replica.clock.wallTime = () => {
      throw new Error('no clock')
    }
    await replica.clock.advance(2000)
    expect(replica.failures).toMatchObject([{ message: 'The elector of `lease` died', cause: new Error('no clock') }])
    expect(await replica.unhealthy()).toMatchObject([expect.stringContaining('leader-election: ')])
    expect(replica.candidacy.explain()).toBe('It no longer competes for the lease: The elector of `lease` died.')
    const stopped = replica.candidacy.stop()
    stuck.resolve()
    await stopped
    expect(replica.all('term-over')).toMatchObject([{ reason: 'elector-failed', outcome: 'expired', drain: 'aborted' }])
    expect(replica.clock.pendingTimers).toBe(0)
  })
})

describe('A term whose controller is beyond repair', () => {
  test('is given up, and the replica leaves the lease to a healthier one for as long as restarts are counted', async () => {
    const replica = await new Replica({ restart: { withinMs: 30_000 } })
      .runs(() => Promise.reject(new TerminalError('no such table')))
      .start()
    await replica.clock.advance(100)
    expect(replica.all('controller-failed')).toMatchObject([{ controller: 'janitor', restartInMs: undefined }])
    expect(replica.all('term-over')).toMatchObject([{ reason: 'controller-failed', outcome: 'released' }])
    await replica.clock.advance(29_800)
    expect(replica.all('term-began')).toHaveLength(1)
    await replica.clock.advance(300)
    expect(replica.all('term-began')).toHaveLength(2)
  })

  test('fails the whole candidacy when no restart can mend it', async () => {
    const shared: Controller = { name: 'janitor', run: untilEnd }
    const replica = await new Replica().registers(() => shared).start()
    void replica.candidacy.stepDown({ cooldownMs: 0 })
    await replica.clock.advance(100)
    expect(replica.failures).toMatchObject([{ code: 'BAD_OPTIONS' }])
  })

  test('drains the controllers that are well', async () => {
    const log: string[] = []
    const replica = new Replica().runs(async (term) => {
      await untilEnd(term).catch(() => log.push('drained'))
    }, 'well')
    replica.runs(async () => {
      throw new TerminalError('ill')
    }, 'ill')
    await replica.start()
    await replica.clock.advance(100)
    expect(log).toEqual(['drained'])
    expect(replica.holder).toBe('')
  })
})

describe('The health of a candidacy', () => {
  test('includes the checks of its controllers while they run, under their names', async () => {
    const replica = await new Replica()
      .runs(async (term) => {
        term.health.register('cache', () => {
          throw new Error('cold')
        })
        await untilEnd(term)
      })
      .start()
    expect(await replica.unhealthy()).toEqual(['janitor.cache: cold'])
    await replica.candidacy.stop()
    expect(replica.candidacy.health.names).toEqual(['leader-election'])
  })

  test('keeps no registry of an ended run', async () => {
    const replica = new Replica().runs(untilEnd)
    const { health } = replica.candidacy
    const served = new Set<unknown>()
    const add = health.add.bind(health)
    health.add = (source, prefix) => {
      const remove = add(source, prefix)
      served.add(source)
      return () => {
        served.delete(source)
        remove()
      }
    }
    await replica.start()
    expect(served.size).toBe(1)
    void replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(served.size).toBe(0)
  })

  test('fails when the lease has expired while tasks still run', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    expect(await replica.unhealthy()).toEqual([])
    replica.clock.stall(14_250)
    expect(await replica.unhealthy()).toHaveLength(1)
  })

  test('fails when the elector has not moved for longer than it should', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    replica.clock.stall(4001)
    expect(await replica.unhealthy()).toEqual(['leader-election: the elector is 2001 ms overdue'])
    await replica.clock.advance(0)
    expect(await replica.unhealthy()).toEqual([])
  })

  test('of a follower is good, whichever replica leads', async () => {
    const leader = await new Replica({ identity: 'other' }).runs(untilEnd).start()
    const follower = await new Replica({ store: leader.store, clock: leader.clock }).start()
    await leader.clock.advance(60_000)
    expect(await follower.unhealthy()).toEqual([])
    expect(follower.candidacy.standing).toBe('standing')
  })

  test('remembers why it may not acquire the lease until it holds it, though it must not act yet', async () => {
    const replica = new Replica({ timing: { acquireDelayMs: 3000 } })
    replica.store.write('lease', lease({ version: 1n, holderIdentity: '', leaseDurationSeconds: 1 }).record, undefined)
    replica.lock.failure = 'forbidden'
    await replica.start()
    expect(replica.candidacy.refusal).toMatchObject({ failure: 'forbidden' })
    replica.lock.failure = undefined
    await replica.clock.advance(2500)
    expect(replica.candidacy.explain()).toContain('It holds the lease but must not act')
    expect(replica.candidacy.refusal).toBeUndefined()
  })

  test('of a follower has no last problem while it sees the lease by its watch, whatever else it tries', async () => {
    const leader = await new Replica({ identity: 'other' }).runs(untilEnd).start()
    const follower = new Replica({ store: leader.store, clock: leader.clock })
    const { lock } = follower
    const watch = lock.watch.bind(lock)
    let observer: LockObserver | undefined
    lock.watch = (given) => watch((observer = given))
    lock.failure = 'forbidden'
    await follower.start()
    await follower.clock.advance(1900)
    expect(follower.all('request-failed').length).toBeGreaterThan(0)
    expect(follower.candidacy.lastProblem).toBeUndefined()
    observer?.down(new Error('connection lost'))
    await follower.clock.advance(3000)
    expect(follower.candidacy.lastProblem).toMatchObject({ failure: 'forbidden' })
    observer?.up()
    await follower.clock.runAllMicrotasks()
    expect(follower.candidacy.lastProblem).toBeUndefined()
  })

  test('of a follower that has not seen the lease keeps its last problem, though its watch is connected', async () => {
    const follower = new Replica()
    let observer: LockObserver | undefined
    follower.lock.watch = (given) => ((observer = given), { close: async () => {} })
    follower.lock.failure = 'forbidden'
    await follower.start()
    await follower.clock.advance(3000)
    expect(follower.candidacy.lastProblem).toMatchObject({ failure: 'forbidden' })
    observer?.up()
    expect(follower.candidacy.lastProblem).toMatchObject({ failure: 'forbidden' })
  })

  test('remembers the last problem until it is over', async () => {
    const replica = await new Replica().runs(untilEnd).start()
    replica.lock.failure = 'forbidden'
    await replica.clock.advance(2500)
    expect(replica.candidacy.lastProblem).toMatchObject({ failure: 'forbidden' })
    replica.lock.failure = undefined
    await replica.clock.advance(1000)
    expect(replica.candidacy.lastProblem).toBeUndefined()
  })
})

describe('With GracefulLeaderTransition off', () => {
  const gates = { GracefulLeaderTransition: false }

  test('losing the lease ends the process at once', async () => {
    const replica = await new Replica({ gates }).runs(untilEnd).start()
    replica.store.delete('lease')
    await replica.clock.runAllMicrotasks()
    expect(replica.fatals).toMatchObject([
      { code: 'LEADERSHIP_LOST', message: 'The lease `lease` was lost: lease-deleted' },
    ])
  })

  test('a step-down ends it when the term is over', async () => {
    const replica = await new Replica({ gates }).runs(untilEnd).start()
    void replica.candidacy.stepDown()
    await replica.clock.advance(100)
    expect(replica.fatals).toMatchObject([{ code: 'LEADERSHIP_LOST' }])
    expect(replica.holder).toBe('')
  })

  test('a stop is a clean one', async () => {
    const replica = await new Replica({ gates }).runs(untilEnd).start()
    await replica.candidacy.stop()
    expect(replica.fatals).toEqual([])
    expect(replica.holder).toBe('')
  })

  test('it can still be stopped where the process was not ended', async () => {
    const replica = await new Replica({ gates }).runs(untilEnd).start()
    replica.store.delete('lease')
    await replica.clock.runAllMicrotasks()
    await replica.candidacy.stop()
    expect(replica.all('term-over')).toMatchObject([{ reason: 'lease-deleted', outcome: 'lost' }])
  })
})

describe('With ReleaseLockOnExit off', () => {
  test('a clean stop drains and leaves the lease', async () => {
    const replica = await new Replica({ gates: { ReleaseLockOnExit: false } }).runs(untilEnd).start()
    await replica.candidacy.stop()
    expect(replica.holder).toBe('me')
    expect(replica.all('term-over')).toMatchObject([{ reason: 'shutdown', outcome: 'expired', drain: 'clean' }])
  })
})

test('the error of a replica whose identity another one uses names the lease, the identity and the remedy', () => {
  expect(identityTaken('ops/janitor', 'me').message).toBe(
    'Expected `identity` to be unique to this process, but another live replica holds `ops/janitor` as `me`. ' +
      'Leave `identity` out to get a unique one',
  )
})
