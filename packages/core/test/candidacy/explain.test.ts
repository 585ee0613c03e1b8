import { describe, expect, test } from 'vitest'
import { explain } from '../../src/candidacy/explain.ts'
import type { DrainState } from '../../src/drain/machine.ts'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { withOffer } from '../../src/election/rules/transfer-notes.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import type { Coordinator, LockSnapshot } from '../../src/lock/lock.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import type { LiveTask } from '../../src/term/task-scope.ts'
import { lease, ME, PureElector } from '../election/pure-elector.ts'
import { Replica, untilEnd } from '../support/replica.ts'
import { createManager } from '../support/virtual-manager.ts'

const SWEEP: LiveTask = {
  name: 'sweep',
  controller: 'janitor',
  ageMs: 1200,
  spawnedAt: 'sweep.ts:1:1',
  waitsOn: undefined,
}
const FREE = lease({ version: 1n, holderIdentity: '' })

interface Case {
  readonly elector: () => PureElector
  readonly says: string
  readonly problem?: string
  readonly tasks?: readonly LiveTask[]
}

const following = (snapshot: LockSnapshot = lease({ version: 1n })): PureElector => {
  const elector = new PureElector()
  elector.follow(snapshot)
  return elector
}

const after = (elector: PureElector, ms: number): PureElector => {
  elector.passTo(elector.now + ms)
  return elector
}

/** A term that steps down, with the drain as it is `ms` later. */
const draining = (ms: number): PureElector => {
  const elector = new PureElector().lead()
  elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
  elector.passTo(25)
  elector.acknowledge(3n)
  for (let now = 2025; now < ms; now += 2000) {
    elector.passTo(now)
    elector.acknowledge(BigInt(now))
  }
  elector.passTo(ms)
  return elector
}

/** Every state of the machine, in each of its ways. The compiler sees to it that no state is missing. */
const CASES: Readonly<Record<ElectorState['kind'], Readonly<Record<string, Case>>>> = {
  idle: { 'was not started': { elector: () => new PureElector(), says: 'It has not been started.' } },
  following: {
    'has seen nothing': {
      elector: () => {
        const elector = new PureElector()
        elector.send({ kind: 'start' })
        return elector
      },
      problem: '403 leases is forbidden',
      says: 'It has not seen the lease yet: 403 leases is forbidden.',
    },
    'follows a leader': {
      elector: () => after(following(), 4000),
      says: 'It follows other. The lease last changed 4.0 s ago and can be acquired in 11.0 s.',
    },
    'follows a leader whose lease lasts long': {
      elector: () => following(lease({ version: 1n, leaseDurationSeconds: 100_000 })),
      says: 'It follows other. The lease last changed 0.0 s ago and can be acquired in 100000.0 s, because the lease states a duration of 100000 s.',
    },
    'is the likely successor': {
      elector: () => {
        const { record } = lease({ version: 1n })
        const elector = following({ ...lease({ version: 1n }), record: withOffer(record, { to: ME }) })
        elector.acknowledge(2n)
        return elector
      },
      says: 'It follows other and is its successor. The lease last changed 0.0 s ago and can be acquired in 15.0 s.',
    },
    'follows its own name': {
      elector: () => following(lease({ version: 1n, holderIdentity: ME })),
      says: 'It follows an earlier holder with its own identity, me. The lease last changed 0.0 s ago and can be acquired in 15.0 s.',
    },
    'follows a leader that has renewed since': {
      elector: () => {
        const elector = after(following(), 4000)
        elector.observe(lease({ version: 2n, renewTime: '2026-01-01T12:00:04.000000Z' }))
        return after(elector, 2000)
      },
      says: 'It follows other. The lease last changed 2.0 s ago and can be acquired in 13.0 s.',
    },
    'was named by an election controller, and reads the lease because its watch is late': {
      elector: () => {
        const elector = new PureElector({ coordination: 'server' })
        elector.follow(lease({ version: 5n }))
        elector.observe(lease({ version: 6n, holderIdentity: ME }))
        elector.failWrite('conflict')
        elector.passTo(500)
        elector.answerRead(lease({ version: 6n, holderIdentity: ME }))
        elector.observe(lease({ version: 4n }))
        elector.stallTo(4000)
        return elector
      },
      says: 'It follows an earlier holder with its own identity, me. The lease last changed 4.0 s ago and can be acquired in 0.0 s.',
    },
    'has no watch': {
      elector: () => {
        const elector = after(following(), 1000)
        elector.send({ kind: 'watch-down' })
        elector.now = 3000
        return elector
      },
      problem: 'connection refused',
      says: 'It follows other. The lease last changed 3.0 s ago and can be acquired in 12.0 s; its watch has been disconnected for 2.0 s, so it polls: connection refused.',
    },
    'cools down': {
      elector: () => {
        const elector = new PureElector().lead()
        elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
        elector.send({ kind: 'drained' })
        elector.acknowledge(3n)
        return after(elector, 1000)
      },
      says: 'It leaves the lease to other replicas for another 3.8 s after its last term.',
    },
    'was refused': {
      elector: () => {
        const elector = following(FREE)
        elector.failWrite('forbidden')
        return elector
      },
      problem: '403 leases is forbidden',
      says: 'It could not acquire the lease and tries again in 2.0 s: 403 leases is forbidden.',
    },
    'was beaten': {
      elector: () => {
        const elector = following(FREE)
        elector.failWrite('conflict')
        return elector
      },
      says: 'It knows that the lease changed and waits to see the new version.',
    },
    'waits for a lease that is being deleted': {
      elector: () => following(lease({ version: 1n, deleting: true })),
      says: 'The lease is being deleted, but finalizers keep it. It creates the lease again after they are removed.',
    },
    'waits to create a deleted lease': {
      elector: () => withoutLease(),
      says: 'The lease does not exist. It creates the lease in 0.1 s.',
    },
    'waits for its turn': {
      elector: () => {
        const elector = new PureElector()
        elector.random = 0.5
        elector.follow(FREE)
        return elector
      },
      says: 'The lease has no holder. It acquires the lease in 0.1 s.',
    },
    'is stopping': {
      elector: () => {
        const elector = following(FREE)
        elector.send({ kind: 'stop' })
        elector.failWrite('unknown-outcome')
        return elector
      },
      says: 'It is stopping and waits for the outcome of its last write.',
    },
  },
  acquiring: {
    'waits for the answer': {
      elector: () => following(FREE),
      says: 'It has sent the write that acquires the lease and waits for the answer.',
    },
  },
  reserving: {
    'waits for its time': {
      elector: () => {
        const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 3000 }) })
        elector.follow(FREE)
        elector.acknowledge(2n)
        elector.now = 1000
        return elector
      },
      says: 'It holds the lease but must not act for another 2.0 s, because the previous holder may still act.',
    },
  },
  leading: {
    leads: {
      elector: () => after(new PureElector().lead(), 1000),
      says: 'It leads with epoch 2 and may act for 13.3 s even if no renewal succeeds.',
    },
    'leads and cannot renew': {
      elector: () => after(new PureElector().lead(), 4000),
      problem: 'timeout',
      says: 'It leads with epoch 2 and may act for 10.3 s even if no renewal succeeds: timeout.',
    },
  },
  draining: {
    'waits for tasks': {
      elector: () => draining(25),
      tasks: [SWEEP],
      says: 'Its term is ending (step-down): it waits for janitor/sweep (1200 ms, started at sweep.ts:1:1).',
    },
    'waits for cleanups': {
      elector: () => draining(25),
      says: 'Its term is ending (step-down): it waits for its cleanups.',
    },
    'has aborted tasks': {
      elector: () => draining(20_000),
      tasks: [SWEEP],
      says: 'Its term is ending (step-down): it has aborted its tasks and waits for janitor/sweep (1200 ms, started at sweep.ts:1:1).',
    },
    'is wedged': {
      elector: () => draining(24_000),
      tasks: [SWEEP],
      says: 'Its term is ending (step-down): it is wedged on janitor/sweep (1200 ms, started at sweep.ts:1:1).',
    },
    'waits for an answer': {
      elector: () => {
        const elector = new PureElector().lead()
        const order = { reason: 'transferred', cooldownMs: 0, to: 'other', answerTimeoutMs: 2000 } as const
        elector.send({ kind: 'step-down', ...order })
        elector.passTo(0)
        elector.acknowledge(3n)
        elector.now = 500
        elector.send({ kind: 'drained' })
        return elector
      },
      says: 'Its term is ending (transferred): it waits another 1.5 s for an answer from other.',
    },
    'waits for its renewal': {
      elector: () => {
        const elector = after(new PureElector().lead(), 2000)
        elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
        elector.send({ kind: 'drained' })
        return elector
      },
      says: 'Its term is ending (step-down): it waits for its last renewal.',
    },
  },
  aborting: {
    'waits for tasks': {
      elector: () => {
        const elector = new PureElector().lead()
        elector.observe({ kind: 'absent', version: 3n })
        return elector
      },
      tasks: [SWEEP],
      says: 'It has lost its term (lease-deleted) and waits for janitor/sweep (1200 ms, started at sweep.ts:1:1).',
    },
  },
  releasing: {
    'frees the lease': {
      elector: () => {
        const elector = new PureElector().lead()
        elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
        elector.send({ kind: 'drained' })
        return elector
      },
      says: 'Its term has ended, and it releases the lease.',
    },
  },
  stopped: {
    'has stopped': {
      elector: () => {
        const elector = new PureElector()
        elector.send({ kind: 'stop' })
        return elector
      },
      says: 'It has stopped and no longer competes for the lease.',
    },
  },
}

describe.each(Object.entries(CASES))('An explanation of %s', (kind, cases) => {
  test.each(Object.entries(cases))('says when it %s', (_name, { elector, says, problem, tasks = [] }) => {
    const { state, config, now } = elector()
    expect(state.kind).toBe(kind)
    const lastProblem = problem === undefined ? undefined : new Error(problem)
    expect(explain(state, { config, now, tasks, lastProblem })).toBe(says)
  })
})

const NEVER_LEADS =
  "This replica never leads (`rollout: 'never-lead'`), so nobody leads until another replica acquires the lease."
const mine = {
  name: 'example.com/mine',
  version: 1,
  compare: () => 0,
  binaryVersion: undefined,
  emulationVersion: undefined,
}

/** A follower of a lease that was deleted. */
const withoutLease = (): PureElector => {
  const elector = new PureElector()
  elector.random = 0.5
  elector.follow(lease({ version: 1n }))
  elector.observe({ kind: 'absent', version: 2n })
  return elector
}

/** States that the settings explain in another way. */
const BY_CONFIG: Readonly<Record<string, Case & { readonly config: Partial<ElectorConfig> }>> = {
  'it never leads, and follows': {
    elector: () => following(),
    config: { neverLeads: true, strategy: mine },
    says: "It follows other and never leads (`rollout: 'never-lead'`).",
  },
  'it never leads, and nobody holds the lease': {
    elector: () => {
      const elector = new PureElector()
      elector.random = 0.5
      elector.follow(FREE)
      return elector
    },
    config: { neverLeads: true },
    says: `The lease has no holder. ${NEVER_LEADS}`,
  },
  'it never leads, and the lease does not exist': {
    elector: withoutLease,
    config: { neverLeads: true },
    says: `The lease does not exist. ${NEVER_LEADS}`,
  },
  'it leads for life': {
    elector: () => after(new PureElector().lead(), 1000),
    config: { heldForLife: true },
    says: 'It leads for life with epoch 2 and may act for 13.3 s even if no check of the lease succeeds.',
  },
  'it waits for a proof that the holder has ended': {
    elector: () => {
      const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 3000 }) })
      elector.follow(FREE)
      elector.acknowledge(2n)
      elector.now = 1000
      return elector
    },
    config: { heldForLife: true },
    says: 'It holds the lease but must not act for another 2.0 s, because nothing proves that the container of the previous holder has ended.',
  },
  'it asks who decides': {
    elector: () => following(),
    config: { strategy: mine, coordination: 'asking' },
    says: 'It asks the API server whether an election controller decides who leads.',
  },
  'it waits to be chosen by the API server': {
    elector: () => following(),
    config: { strategy: mine, coordination: 'server' },
    says: 'It waits to be chosen: other leads. The election controller of the API server decides who leads.',
  },
  'the lease does not exist, and the API server decides': {
    elector: withoutLease,
    config: { strategy: mine, coordination: 'server' },
    says: 'It waits to be chosen: nobody leads. The election controller of the API server decides who leads.',
  },
  'the lease cannot be created': {
    elector: withoutLease,
    config: {},
    problem: 'timeout',
    says: 'The lease does not exist. It creates the lease in 0.1 s: timeout.',
  },
  'the lease cannot be released': {
    elector: () => {
      const elector = new PureElector().lead()
      elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
      elector.send({ kind: 'drained' })
      return elector
    },
    config: {},
    problem: 'timeout',
    says: 'Its term has ended, and it releases the lease: timeout.',
  },
  'its watch is down for no known reason': {
    elector: () => {
      const elector = after(following(), 1000)
      elector.send({ kind: 'watch-down' })
      elector.now = 3000
      return elector
    },
    config: {},
    says: 'It follows other. The lease last changed 3.0 s ago and can be acquired in 12.0 s; its watch has been disconnected for 2.0 s, so it polls.',
  },
}

test.each(Object.entries(BY_CONFIG))(
  'An explanation says when %s',
  (_name, { elector, config: more, says, problem }) => {
    const { state, config, now } = elector()
    const lastProblem = problem === undefined ? undefined : new Error(problem)
    expect(explain(state, { config: { ...config, ...more }, now, tasks: [], lastProblem })).toBe(says)
  },
)

describe('An explanation of a drain', () => {
  const context = { config: new PureElector().config, now: 25, tasks: [], lastProblem: undefined }
  const { state: ending } = draining(25)
  if (ending.kind !== 'draining') throw new Error(`Expected a drain, got ${ending.kind}`)
  const lost = new PureElector().lead()
  lost.observe({ kind: 'absent', version: 3n })
  const aborting = lost.as('aborting')
  const schedule = { voluntary: true, abortAt: undefined, wedgedAt: 1e6, cleanups: { timeoutMs: 1000 } }

  test.each<[DrainState, string]>([
    [{ kind: 'open' }, 'waits for its cleanups'],
    [{ ...schedule, kind: 'asked' }, 'waits for its cleanups'],
    [{ ...schedule, kind: 'aborted' }, 'has aborted its tasks and waits for its cleanups'],
    [{ ...schedule, kind: 'cleaning', cleanupsAbortAt: undefined, cleanedBy: 1e6 }, 'waits for its cleanups'],
    [{ ...schedule, kind: 'wedged' }, 'is wedged on its cleanups'],
  ])('%j says what is left', (drain, says) => {
    expect(explain({ ...ending, drain }, context)).toBe(`Its term is ending (step-down): it ${says}.`)
    expect(explain({ ...aborting, drain }, context)).toBe(`It has lost its term (lease-deleted) and ${says}.`)
  })

  test('that is empty says what the replica waits for', () => {
    const drain = { kind: 'empty' } as const
    expect(explain({ ...aborting, drain }, context)).toBe('It has lost its term (lease-deleted) and has nothing left.')
    const waiting = { ...ending, drain, answerBy: 1525, stepDown: { ...ending.stepDown, to: 'other' } }
    expect(explain(waiting, context)).toBe(
      'Its term is ending (step-down): it waits another 1.5 s for an answer from other.',
    )
    const renewal = 'Its term is ending (step-down): it waits for its last renewal.'
    expect(explain(waiting, { ...context, now: 1525 })).toBe(renewal)
    expect(explain({ ...waiting, stepDown: ending.stepDown }, context)).toBe(renewal)
  })
})

test('An explanation of a pause ends with the pause', () => {
  const elector = following(FREE)
  elector.failWrite('forbidden')
  const { state, config } = elector
  const context = { config, tasks: [], lastProblem: undefined }
  expect(explain(state, { ...context, now: 1999 })).toBe('It could not acquire the lease and tries again in 0.0 s.')
  expect(explain(state, { ...context, now: 2000 })).toBe('The lease has no holder. It acquires the lease in 0.0 s.')
})

test('An explanation has no time below zero', () => {
  const elector = following()
  expect(explain(elector.state, { config: elector.config, now: 60_000, tasks: [], lastProblem: undefined })).toBe(
    'It follows other. The lease last changed 60.0 s ago and can be acquired in 0.0 s.',
  )
})

test('A replica that waits to be chosen compares its versions with those that the leader published', () => {
  const strategy = { ...mine, name: 'NewestVersion', binaryVersion: '1.36.0', emulationVersion: '1.36.0' }
  const asked: string[] = []
  const versionsOf = (identity: string) => (
    asked.push(identity),
    { binaryVersion: '1.37.0', emulationVersion: '1.36.0' }
  )
  const { state, config, now } = following()
  const context = {
    config: { ...config, strategy, coordination: 'server' as const },
    now,
    tasks: [],
    lastProblem: undefined,
  }
  expect(explain(state, { ...context, versionsOf })).toBe(
    'It waits to be chosen: other leads with 1.37.0, this replica has 1.36.0. The election controller of the API server decides who leads.',
  )
  expect(asked).toEqual(['other'])
})

test('A candidacy explains itself', async () => {
  const replica = new Replica()
  expect(replica.candidacy.explain()).toBe('It has not been started.')
  await replica.runs(untilEnd).start()
  expect(replica.candidacy.explain()).toBe('It leads with epoch 1 and may act for 14.3 s even if no renewal succeeds.')
})

test('A candidacy on a lock whose holders keep the lease for life explains that', async () => {
  const replica = new Replica()
  Object.assign(replica.lock, { heldForLife: true })
  await replica.runs(untilEnd).start()
  await replica.clock.advance(15_000)
  expect(replica.candidacy.explain()).toMatch(/^It leads for life with epoch 1 and may act for /)
})

test('A candidacy whose lock has a coordinator explains itself by what others have published there', async () => {
  const store = new MemoryLeaseStore()
  store.write('lease', lease({ version: 1n }).record, undefined)
  const asked: string[] = []
  const coordinator: Coordinator = {
    state: 'server',
    preferred: undefined,
    pings: { answered: 3, late: 1 },
    versionsOf: (identity) => (asked.push(identity), { binaryVersion: '1.37.0', emulationVersion: '1.34.0' }),
    stand: () => {},
    watch: () => ({ close: async () => {} }),
  }
  const versions = { binaryVersion: '1.36.0', emulationVersion: '1.35.0' }
  const { manager, clock } = createManager({
    lease: { name: 'lease', strategy: 'OldestEmulationVersion', ...versions },
    createLock: () => Object.assign(store.lock('lease'), { coordinator }),
  })
  const running = manager.start()
  await clock.runAllMicrotasks()
  expect(manager.candidacies[0]?.explain()).toBe(
    'It waits to be chosen: other leads with 1.34.0, this replica has 1.35.0. The election controller of the API server decides who leads.',
  )
  expect(new Set(asked)).toEqual(new Set(['other']))
  expect(manager.candidacies[0]?.choice).toEqual({
    decidedBy: 'server',
    rank: undefined,
    pings: { answered: 3, late: 1 },
    preemptions: { handedOver: 0, unavailable: 0 },
  })
  await manager.stop()
  await running
})
