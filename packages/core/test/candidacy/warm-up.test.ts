import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Controller } from '../../src/controller/controller.ts'
import type { RegisterOptions } from '../../src/controller/registration.ts'
import type { WarmUp } from '../../src/controller/controller.ts'
import { WriteGate } from '../../src/gate/write-gate.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { silentLogger } from '../../src/ports/logger.ts'
import type { Term } from '../../src/term/term.ts'
import { Replica, type ReplicaOptions, untilEnd } from '../support/replica.ts'
import { never } from '../support/never.ts'

/** What a {@link Fleet} is made of. */
interface FleetOptions {
  readonly warmUp?: (warm: WarmUp, log: string[]) => Promise<void>
  readonly run?: (term: Term, log: string[]) => Promise<void>
  readonly register?: RegisterOptions
  readonly replica?: ReplicaOptions
  /** How long the leader drains when it steps down. @default 0 */
  readonly leaderDrainMs?: number
}

/** A leader with an idle controller, and a follower whose controller warms up. */
async function fleet({ warmUp, run, register, replica, leaderDrainMs = 0 }: FleetOptions = {}) {
  const clock = new VirtualClock()
  const store = new MemoryLeaseStore()
  const log: string[] = []
  const leader = new Replica({ identity: 'leader', clock, store })
  await leader
    .runs(async (term) => {
      await untilEnd(term).catch(() => {})
      await new Promise<void>((resolve) => clock.setTimer(leaderDrainMs, resolve))
    })
    .start()
  let built = 0
  const follower = new Replica({ identity: 'follower', clock, store, ...replica })
  follower.registers(
    (): Controller => {
      const id = ++built
      log.push(`build ${id}`)
      return {
        name: 'janitor',
        warmUp: async (warm) => {
          log.push(`warm up ${id}`)
          await warmUp?.(warm, log)
        },
        run: async (term) => {
          log.push(`run ${id}`)
          await (run?.(term, log) ?? untilEnd(term))
        },
      }
    },
    { warmUp: 'following', ...register },
  )
  await follower.start()
  /** Lets the leader step down for good. */
  const handOver = async (): Promise<void> => {
    void leader.candidacy.stop()
    await clock.advance(200)
  }
  return { clock, store, log, leader, follower, handOver }
}

const warmsFor = (ms: number) => async (warm: WarmUp, log: string[]) => {
  await warm.sleep(ms)
  log.push('warm')
}

const outcomes = (replica: Replica) => replica.all('warm-up').map(({ outcome }) => outcome)

describe('A follower', () => {
  test('builds nothing unless a controller is registered to warm up', async () => {
    const { log, handOver, clock } = await fleet({ register: { warmUp: 'never' } })
    await clock.advance(60_000)
    expect(log).toEqual([])
    await handOver()
    expect(log).toEqual(['build 1', 'run 1'])
  })

  test('that warms up while following runs the very instance that is warm when it wins', async () => {
    const { log, follower, clock, handOver } = await fleet({ warmUp: warmsFor(1000) })
    await clock.advance(5000)
    expect(log).toEqual(['build 1', 'warm up 1', 'warm'])
    expect(follower.candidacy.liveTasks()).toEqual([])
    await handOver()
    expect(log).toEqual(['build 1', 'warm up 1', 'warm', 'run 1'])
    expect(outcomes(follower)).toEqual(['ready'])
    expect(follower.candidacy.state.kind).toBe('leading')
  })

  test('may write nothing while it warms up', async () => {
    let warmUp: WarmUp | undefined
    const { handOver } = await fleet({ warmUp: async (warm) => void (warmUp = warm) })
    const gate = new WriteGate(warmUp as WarmUp)
    expect([gate.isOpen(), warmUp?.epoch, warmUp?.isHeld(), warmUp?.gateSignal.aborted]).toEqual([
      false,
      0n,
      false,
      true,
    ])
    await handOver()
    expect(gate.isOpen()).toBe(false)
  })

  test('ends its warm-up when it stops, and waits for it', async () => {
    const closing = Promise.withResolvers<void>()
    const { follower, clock } = await fleet({
      warmUp: async (warm, log) => {
        warm.defer(() => closing.promise)
        await warm.sleep(1e12).finally(() => log.push('ended'))
      },
    })
    let isStopped = false
    void follower.candidacy.stop().then(() => (isStopped = true))
    await clock.advance(1000)
    expect(isStopped).toBe(false)
    closing.resolve()
    await clock.advance(1)
    expect([isStopped, follower.fatals, outcomes(follower)]).toEqual([true, [], ['cancelled']])
  })

  test('names a warm-up that does not end when it stops', async () => {
    const { follower, clock } = await fleet({ warmUp: () => never() })
    void follower.candidacy.stop()
    await clock.advance(4999)
    expect(follower.fatals).toEqual([])
    await clock.advance(1)
    expect(follower.fatals).toMatchObject([{ code: 'WEDGED', tasks: [{ name: 'warmUp', controller: 'janitor' }] }])
    expect(follower.fatals[0]?.message).toMatch(
      /^The warm-ups for `lease` did not drain in time; still running: janitor\/warmUp \(5000 ms/,
    )
  })

  test('whose warm-up fails stays healthy, tells so, and tries again with a fresh instance and growing pauses', async () => {
    const { follower, log, clock } = await fleet({ warmUp: () => Promise.reject(new Error('no connection')) })
    await clock.advance(200 + 400 + 100)
    expect(log).toEqual(['build 1', 'warm up 1', 'build 2', 'warm up 2', 'build 3', 'warm up 3'])
    expect(follower.all('warm-up')[0]).toMatchObject({
      controller: 'janitor',
      outcome: 'failed',
      error: new Error('no connection'),
    })
    expect(await follower.unhealthy()).toEqual([])
    expect(follower.candidacy.state.kind).toBe('following')
  })

  test('whose failed warm-up does not end says so, and begins no other before it has', async () => {
    const warnings: (readonly [object, string])[] = []
    const logger = {
      ...silentLogger,
      warn: (fields: object, message: string) => void warnings.push([fields, message]),
    }
    const cache = Promise.withResolvers<void>()
    const { log, clock } = await fleet({
      warmUp: async (warm, lines) => {
        if (lines.length > 2) return
        void warm.spawn('cache', () => cache.promise)
        throw new Error('no connection')
      },
      replica: { logger },
    })
    await clock.advance(5000)
    expect(log).toEqual(['build 1', 'warm up 1'])
    expect(warnings.at(-1)).toEqual([
      {
        lease: 'lease',
        event: 'warm-up-stuck',
        controller: 'janitor',
        tasks: [expect.objectContaining({ name: 'cache' })],
      },
      expect.stringMatching(/^warm-up of janitor does not end, still running: janitor\/cache \(5000 ms/),
    ])
    cache.resolve()
    await clock.advance(1)
    expect(log).toEqual(['build 1', 'warm up 1', 'build 2', 'warm up 2'])
  })

  test('logs the failure of a task while its warm-up ends, and counts it as no further failure', async () => {
    const errors: (readonly [object, string])[] = []
    const logger = { ...silentLogger, error: (fields: object, text: string) => void errors.push([fields, text]) }
    const err = new Error('watch is gone')
    const { follower, clock } = await fleet({
      warmUp: async (warm) => {
        void warm.spawn('cache', () => warm.sleep(1e9).catch(() => Promise.reject(err)))
        await warm.sleep(1e9)
      },
      replica: { logger },
    })
    void follower.candidacy.stop()
    await clock.advance(1000)
    expect(errors).toEqual([
      [{ lease: 'lease', controller: 'janitor', task: 'cache', err }, 'task failed while its warm-up ended'],
    ])
    expect(outcomes(follower)).toEqual(['cancelled'])
  })

  test('warms up again when a cache breaks that was warm already', async () => {
    const { log, clock, follower } = await fleet({
      warmUp: async (warm) => {
        void warm.spawn('cache', async () => {
          await warm.sleep(1000)
          throw new Error('watch is gone')
        })
      },
    })
    await clock.advance(1300)
    expect(log).toEqual(['build 1', 'warm up 1', 'build 2', 'warm up 2'])
    expect(outcomes(follower)).toEqual(['ready', 'failed', 'ready'])
  })

  test('warms up again after each of its terms', async () => {
    const { log, clock, follower, handOver } = await fleet()
    await handOver()
    void follower.candidacy.stepDown({ cooldownMs: 1000 })
    await clock.advance(100)
    expect(log).toEqual(['build 1', 'warm up 1', 'run 1', 'build 2', 'warm up 2'])
    await clock.advance(2000)
    expect(log.at(-1)).toBe('run 2')
  })

  test('whose factory fails tries again later, and a factory that returns the same instance twice ends the manager', async () => {
    const { follower, clock } = await fleet({ register: { warmUp: 'never' } })
    const broken = new Replica({ identity: 'broken', clock, store: follower.store })
    const same: Controller = { name: 'same', warmUp: () => Promise.reject(new Error('x')), run: untilEnd }
    broken.registers(
      () => {
        throw new Error('no database')
      },
      { warmUp: 'following' },
    )
    broken.registers(() => same, { warmUp: 'following' })
    await broken.start()
    await clock.advance(300)
    expect(broken.all('warm-up').filter(({ controller }) => controller === 'controller-1')).toHaveLength(2)
    expect(broken.failures).toMatchObject([{ code: 'BAD_OPTIONS' }])
  })
})

describe('A replica that wins before its warm-up is ready', () => {
  test('does not run the controller before, but leads and waits', async () => {
    const { log, follower, clock, handOver } = await fleet({ warmUp: warmsFor(2000) })
    await handOver()
    expect([follower.candidacy.state.kind, log]).toEqual(['leading', ['build 1', 'warm up 1']])
    await clock.advance(2000)
    expect(log).toEqual(['build 1', 'warm up 1', 'warm', 'run 1'])
  })

  test('waits no longer than it may, and then runs a fresh instance', async () => {
    const { log, clock, handOver, follower } = await fleet({
      warmUp: warmsFor(1e9),
      register: { warmUpTimeoutMs: 3000 },
    })
    await handOver()
    await clock.advance(2700)
    expect(log).toEqual(['build 1', 'warm up 1'])
    await clock.advance(300)
    expect(log).toEqual(['build 1', 'warm up 1', 'build 2', 'run 2'])
    expect(outcomes(follower)).toEqual(['cancelled'])
  })

  test('joins a warm-up that hangs before its term is over, and never releases over it', async () => {
    const hanging = Promise.withResolvers<void>()
    const { clock, handOver, follower, log } = await fleet({
      warmUp: () => hanging.promise,
      register: { warmUpTimeoutMs: 1000 },
      replica: { onWedged: 'hold' },
    })
    await handOver()
    await clock.advance(2000)
    expect(log.at(-1)).toBe('run 2')
    void follower.candidacy.stepDown({ cooldownMs: 1e6 })
    await clock.advance(24_000)
    expect(follower.all('wedged')).toMatchObject([{ tasks: [{ name: 'warmUp', controller: 'janitor' }] }])
    expect(follower.holder).toBe('follower')
    hanging.resolve()
    await clock.advance(100)
    expect(follower.holder).toBe('')
  })

  test('ends at once when its term ends while it waits', async () => {
    const { clock, handOver, follower, log } = await fleet({ warmUp: warmsFor(4000) })
    await handOver()
    const result = follower.candidacy.stepDown({ cooldownMs: 1e6 })
    await clock.advance(100)
    expect(await result).toMatchObject({ outcome: 'released', drain: 'clean' })
    expect(log).toEqual(['build 1', 'warm up 1', 'build 2', 'warm up 2'])
  })
})

describe('A replica whose term ends before a warm controller runs', () => {
  test('ends the warm-up, and the term is over although it ran out before', async () => {
    const clock = new VirtualClock()
    const replica = new Replica({ clock })
    const log: string[] = []
    replica.runs(async (term) => {
      if (term.epoch === 1n) clock.stall(20_000)
      await untilEnd(term)
    }, 'first')
    replica.registers(
      () => ({
        name: 'second',
        warmUp: async (warm) => {
          warm.defer(() => log.push('cleanup'))
        },
        run: (term) => (log.push(`run in term ${term.epoch}`), untilEnd(term)),
      }),
      { warmUp: 'following' },
    )
    await replica.start()
    await clock.advance(1000)
    expect([replica.fatals, replica.all('wedged')]).toEqual([[], []])
    expect(replica.all('term-over')).toMatchObject([{ drain: 'aborted' }])
    expect(log).toEqual(['cleanup', 'run in term 2'])
  })
})

describe('A replica that is to succeed the leader', () => {
  const successor = { register: { warmUp: 'successor' as const }, leaderDrainMs: 3000 }

  test('warms up while the leader drains, and not before; and runs the very instance that is warm', async () => {
    const { log, clock, leader, follower } = await fleet({ ...successor, warmUp: warmsFor(1000) })
    await clock.advance(60_000)
    expect(log).toEqual([])
    const result = leader.candidacy.stepDown()
    await clock.advance(100)
    expect(log).toEqual(['build 1', 'warm up 1'])
    await clock.advance(2899)
    expect(log).toEqual(['build 1', 'warm up 1', 'warm'])
    await clock.advance(101)
    expect(await result).toMatchObject({ outcome: 'transferred', successor: 'follower' })
    expect(log).toEqual(['build 1', 'warm up 1', 'warm', 'run 1'])
    expect(outcomes(follower)).toEqual(['ready'])
  })

  test('ends its warm-up when nothing comes of it, and has none when it wins otherwise', async () => {
    const warms: WarmUp[] = []
    const { log, clock, leader, follower } = await fleet({
      ...successor,
      warmUp: async (warm, lines) => {
        warms.push(warm)
        warm.defer(() => lines.push('gone'))
        await warm.sleep(1e9)
      },
    })
    void leader.candidacy.stepDown({ cooldownMs: 1e9 })
    await clock.advance(500)
    follower.store.delete('lease')
    await clock.advance(100)
    expect(log).toEqual(['build 1', 'warm up 1', 'gone'])
    expect(outcomes(follower)).toEqual(['cancelled'])
    expect(warms[0]?.signal.reason).toMatchObject({
      message: 'The warm-up of controller `janitor` has ended: somebody else succeeds',
    })
    await clock.advance(40_000)
    expect(follower.candidacy.state.kind).toBe('leading')
    expect(log).toEqual(['build 1', 'warm up 1', 'gone', 'build 2', 'run 2'])
  })
})

describe('What a warm-up has started', () => {
  test('goes on during the term, and ends after the tasks of the run', async () => {
    const { clock, handOver, follower, log } = await fleet({
      warmUp: async (warm, lines) => {
        void warm.spawn('cache', async (signal) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          lines.push('cache over')
        })
      },
      run: async (term, lines) => {
        term.defer(() => lines.push('run over'))
        await untilEnd(term)
      },
    })
    await handOver()
    await clock.advance(1000)
    expect(follower.candidacy.liveTasks()).toMatchObject([{ name: 'run' }, { name: 'cache' }])
    void follower.candidacy.stepDown({ cooldownMs: 1e6 })
    await clock.advance(100)
    expect(log.slice(0, 5)).toEqual(['build 1', 'warm up 1', 'run 1', 'run over', 'cache over'])
  })

  test('fails the run when it fails during the term; the restart has no warm-up', async () => {
    const { clock, handOver, follower, log } = await fleet({
      warmUp: async (warm) => {
        void warm.spawn('cache', async () => {
          await warm.sleep(10_000)
          throw new Error('watch is gone')
        })
      },
    })
    await handOver()
    await clock.advance(11_000)
    expect(follower.all('controller-failed')).toMatchObject([{ error: new Error('watch is gone') }])
    expect(log).toEqual(['build 1', 'warm up 1', 'run 1', 'build 2', 'run 2'])
  })
})

test('The cleanups of a warm-up that take too long wedge the term at once, though other controllers still have time', async () => {
  const replica = new Replica({ cleanupTimeoutMs: 3000, onWedged: 'hold' })
  const [cleaned, worked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const controller: Controller = {
    name: 'warm',
    warmUp: async (warm) => warm.defer(() => cleaned.promise),
    run: untilEnd,
  }
  replica.registers(() => controller, { warmUp: 'following' })
  replica.runs(() => worked.promise, 'busy')
  await replica.start()
  expect(replica.candidacy.state.kind).toBe('leading')
  void replica.candidacy.stepDown()
  await replica.clock.advance(2999)
  expect(replica.all('wedged')).toEqual([])
  await replica.clock.advance(1)
  expect(replica.all('wedged')).toMatchObject([
    {
      tasks: [
        { controller: 'warm', name: 'cleanup' },
        { controller: 'busy', name: 'run' },
      ],
    },
  ])
  cleaned.resolve()
  worked.resolve()
})

test('The cleanups of a warm-up have their whole time, however late its last task ends', async () => {
  const replica = new Replica({ timing: { drainTimeoutMs: 5000, abortGraceMs: 2000 }, cleanupTimeoutMs: 3000 })
  const after = (ms: number) => new Promise<void>((resolve) => replica.clock.setTimer(ms, resolve))
  const controller: Controller = {
    name: 'warm',
    warmUp: async (warm) => {
      warm.defer(() => after(2000))
      void warm.spawn('cache', () => after(6900))
    },
    run: untilEnd,
  }
  replica.registers(() => controller, { warmUp: 'following' })
  await replica.start()
  const result = replica.candidacy.stepDown({ cooldownMs: 1e6 })
  await replica.clock.advance(6900 + 2000 + 100)
  expect(await result).toMatchObject({ outcome: 'released', drain: 'aborted' })
  expect(replica.all('wedged')).toEqual([])
})

describe('A controller that has no warm-up', () => {
  test('is built ahead all the same where it was asked for, and simply runs', async () => {
    const { clock, store } = await fleet({ register: { warmUp: 'never' }, replica: { identity: 'idle' } })
    const plain = new Replica({ identity: 'plain', clock, store })
    let built = 0
    plain.registers(() => (built++, { name: 'janitor', run: untilEnd }), { warmUp: 'following' })
    await plain.start()
    expect([built, outcomes(plain)]).toEqual([1, ['ready']])
  })

  test('is refused with a mode that does not exist', () => {
    const replica = new Replica()
    const register = () => replica.registers(() => ({ name: 'a', run: untilEnd }), { warmUp: 'always' as never })
    expect(register).toThrow('Expected `warmUp` to be one of never, successor, following, got `always`')
  })
})
