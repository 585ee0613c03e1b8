import { readFileSync } from 'node:fs'
import { type Lock, LockRequestError, MemoryLeaseStore } from '@tenure/core'
import { createOps } from '@tenure/ops'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { LeaseMetrics } from '../src/metrics/lease-metrics.ts'
import { TermMetrics } from '../src/metrics/term-metrics.ts'
import { controller, manage, type ManagedOps, samples } from './managed-ops.ts'

/** The values of one metric by the rest of the line. */
async function values(managed: ManagedOps, name: string): Promise<Readonly<Record<string, number>>> {
  const lines = samples((await managed.get('/metrics')).body, name)
  return Object.fromEntries(
    lines.map((line) => {
      const space = line.lastIndexOf(' ')
      return [line.slice(name.length, space), Number(line.slice(space + 1))]
    }),
  )
}

/** Every family and every set of labels, without values. */
function shape(page: string): readonly string[] {
  return page.split('\n').map((line) => (line.startsWith('#') ? line : line.slice(0, line.lastIndexOf(' '))))
}

const FAMILIES = [
  'kubernetes_feature_enabled',
  'leader_election_master_status',
  'leader_election_slowpath_total',
  'tenure_candidate_pings_total',
  'tenure_candidate_rank',
  'tenure_clock_seconds',
  'tenure_drain_duration_seconds',
  'tenure_draining_seconds',
  'tenure_election_decider',
  'tenure_event_loop_stall_seconds',
  'tenure_fence_refusals_total',
  'tenure_gate_refusals_total',
  'tenure_handover_seconds',
  'tenure_leaks_total',
  'tenure_lease_duration_seconds',
  'tenure_lease_remaining_seconds',
  'tenure_lease_requests_failing',
  'tenure_metrics_skipped',
  'tenure_preemptions_total',
  'tenure_renew_duration_seconds',
  'tenure_renew_failures_total',
  'tenure_store_restores_total',
  'tenure_stuck_tasks',
  'tenure_tasks',
  'tenure_term_duration_seconds',
  'tenure_terms_total',
  'tenure_warm_ups_total',
]

test('a page shows every family of the framework with help and type, and each of them once', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  await managed.state('leading')
  const { body } = await managed.get('/metrics')
  const typed = [...body.matchAll(/^# TYPE (\S+) /gm)].map(([, name]) => String(name))
  expect(typed.sort()).toEqual(FAMILIES)
  const helped = [...body.matchAll(/^# HELP (\S+) \S/gm)].map(([, name]) => String(name))
  expect(helped.sort()).toEqual(FAMILIES)
})

/** The rows of the reference page that name a metric with its type, its labels and its help. */
function documented(): ReadonlyMap<string, readonly string[]> {
  const page = readFileSync(new URL('../../../docs/reference/metrics.md', import.meta.url), 'utf8')
  const rows = page.split('\n').map((line) => line.split('|').map((cell) => cell.trim()))
  return new Map(rows.map(([, name = '', ...cells]) => [name.replaceAll('`', ''), cells]))
}

test('every family has the type and the help that the reference says', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  const { body } = await managed.get('/metrics')
  const reference = documented()
  const shown = FAMILIES.filter((name) => name !== 'tenure_metrics_skipped')
  const facts = (name: string) => ({
    type: new RegExp(`^# TYPE ${name} (.*)$`, 'm').exec(body)?.[1],
    help: new RegExp(`^# HELP ${name} (.*)$`, 'm').exec(body)?.[1],
  })
  for (const name of shown) {
    const [type, _labels, help] = reference.get(name) ?? []
    expect({ name, ...facts(name) }).toEqual({ name, type, help })
  }
  expect(facts('tenure_metrics_skipped')).toEqual({ type: 'gauge', help: 'Metrics left out of this page, by reason.' })
})

test.each([
  ['tenure_renew_duration_seconds', [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]],
  ['tenure_term_duration_seconds', [0.1, 1, 5, 15, 60, 300, 900, 3600, 21_600, 86_400, 604_800]],
  ['tenure_handover_seconds', [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60]],
  ['tenure_event_loop_stall_seconds', [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30]],
  [
    'tenure_drain_duration_seconds',
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60],
    ',outcome="clean"',
  ],
])('the buckets of %s end at %j', async (name, bounds, labels = '') => {
  const { body } = await createOps({ port: false, processMetrics: false }).metrics()
  const found = [...body.matchAll(new RegExp(`^${name}_bucket{le="([^"]+)"${labels}}`, 'gm'))].map(([, le]) => le)
  expect(found).toEqual([...bounds.map(String), '+Inf'])
})

const LEASE = { lease: 'janitor' }
const refused = { kind: 'request-failed', error: new LockRequestError('throttled', 'later'), ...LEASE } as const
const renewed = { kind: 'renewed', elapsedMs: 20, remainingMs: 1, ...LEASE } as const
const over = {
  kind: 'term-over',
  epoch: 1n,
  outcome: 'released',
  successor: undefined,
  drain: 'aborted',
  durationMs: 4000,
  drainMs: 500,
  errors: [],
  ...LEASE,
} as const

test('only a renewal that fails leads to the slow path, and not the one of a former term', async () => {
  const registry = new Registry()
  const metrics = new LeaseMetrics(registry, () => [])
  for (const purpose of ['acquire', 'renew'] as const) metrics.observe({ ...refused, purpose })
  metrics.observe({ ...over, reason: 'renew-deadline' })
  metrics.observe(renewed)
  const page = await registry.metrics()
  expect(page).not.toContain('leader_election_slowpath_total{')
  expect(page).toContain('tenure_renew_failures_total{reason="throttled"} 1\n')
  expect(page).toContain('tenure_renew_duration_seconds_sum 0.02\n')
})

test('durations are in seconds, and a drain lasts from the first request to end the term', async () => {
  const registry = new Registry()
  const clock = new VirtualClock()
  const candidacies = () => [{ lease: 'janitor', stuckTasks: () => [] }]
  const metrics = new TermMetrics({ registry, candidacies, terms: () => [], clock })
  metrics.observe({ kind: 'term-began', epoch: 1n, handoverMs: 250, ...LEASE })
  for (const reason of ['step-down', 'renew-deadline'] as const) {
    metrics.observe({ kind: 'term-ending', epoch: 1n, reason, ...LEASE })
    await clock.advance(3000)
  }
  expect(await registry.metrics()).toContain('tenure_draining_seconds{name="janitor"} 6\n')
  metrics.observe({ ...over, reason: 'transferred' })
  metrics.observe({ ...over, reason: 'shutdown', outcome: 'transferred' })
  const page = await registry.metrics()
  for (const line of [
    'tenure_draining_seconds{name="janitor"} 0',
    'tenure_handover_seconds_sum 0.25',
    'tenure_term_duration_seconds_sum 8',
    'tenure_drain_duration_seconds_sum{outcome="aborted"} 1',
    'tenure_terms_total{name="janitor",end="step-down"} 1',
    'tenure_terms_total{name="janitor",end="transferred"} 1',
  ]) {
    expect(page).toContain(`${line}\n`)
  }
})

test('a follower shows the same series as a replica that has led', async () => {
  const store = new MemoryLeaseStore()
  await using leader = manage({ store, controllers: [controller('sweeper')] })
  await using follower = manage({ store, identity: 'replica-b', controllers: [controller('sweeper')] })
  await leader.start()
  await leader.state('leading')
  await follower.start()
  await follower.state('following')
  const before = (await follower.get('/metrics')).body
  await leader.manager.stepDown({ cooldownMs: 60_000 })
  expect(shape((await leader.get('/metrics')).body)).toEqual(shape(before))
})

test('the status of the lease is 1 while this replica leads, and 0 before and after', async () => {
  const store = new MemoryLeaseStore()
  const status = (managed: ManagedOps) => values(managed, 'leader_election_master_status')
  await using leader = manage({ store, controllers: [controller('sweeper')] })
  await using follower = manage({ store, identity: 'replica-b', controllers: [controller('sweeper')] })
  await leader.start()
  await leader.state('leading')
  await follower.start()
  await follower.state('following')
  expect([await status(leader), await status(follower)]).toEqual([{ '{name="janitor"}': 1 }, { '{name="janitor"}': 0 }])
  await leader.manager.stepDown({ cooldownMs: 60_000 })
  await follower.state('leading')
  expect([await status(leader), await status(follower)]).toEqual([{ '{name="janitor"}': 0 }, { '{name="janitor"}': 1 }])
})

test('the status of a lease stays 1 while the term drains voluntarily, and the time that remains is shown', async () => {
  const finish = Promise.withResolvers<void>()
  await using managed = manage({
    controllers: [
      controller('sweeper', (term) => {
        void term.spawn('last sweep', () => finish.promise, { finishOnDrain: true })
      }),
    ],
  })
  await managed.start()
  await managed.state('leading')
  const stepped = managed.manager.stepDown({ cooldownMs: 60_000 })
  await managed.state('draining')
  expect(await values(managed, 'leader_election_master_status')).toEqual({ '{name="janitor"}': 1 })
  const { '{name="janitor"}': remaining } = await values(managed, 'tenure_lease_remaining_seconds')
  expect(remaining).toBeGreaterThan(5)
  expect(remaining).toBeLessThanOrEqual(15)
  finish.resolve()
  await stepped
  expect(await values(managed, 'leader_election_master_status')).toEqual({ '{name="janitor"}': 0 })
  expect(await values(managed, 'tenure_lease_remaining_seconds')).toEqual({ '{name="janitor"}': 0 })
})

test('every lease has its own series, also a lease added after the port was wired', async () => {
  const store = new MemoryLeaseStore()
  await using other = manage({ store, identity: 'replica-b', manager: { lease: { name: 'reports' } } })
  await other.start()
  await other.state('leading')
  await using managed = manage({ store, controllers: [controller('sweeper')] })
  managed.manager.candidacy({ name: 'reports' }).register(controller('reporter'))
  await managed.start()
  await managed.state('leading')
  expect(await values(managed, 'leader_election_master_status')).toEqual({
    '{name="janitor"}': 1,
    '{name="reports"}': 0,
  })
  expect(await values(managed, 'leader_election_slowpath_total')).toEqual({
    '{name="janitor"}': 0,
    '{name="reports"}': 0,
  })
})

test('terms are counted by how they ended, and their durations by how they drained', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  await managed.state('leading')
  await managed.manager.stepDown({ cooldownMs: 0 })
  await managed.state('leading')
  const deleted = managed.event((event) => event.kind === 'term-over')
  managed.store.delete('janitor')
  await deleted
  const terms = await values(managed, 'tenure_terms_total')
  expect(Object.keys(terms)).toHaveLength(9)
  expect(Object.entries(terms).filter(([, count]) => count > 0)).toEqual([
    ['{name="janitor",end="step-down"}', 1],
    ['{name="janitor",end="lease-deleted"}', 1],
  ])
  expect(await values(managed, 'tenure_term_duration_seconds_count')).toEqual({ '': 2 })
  expect(await values(managed, 'tenure_handover_seconds_count')).toEqual({ '': 2 })
  expect(await values(managed, 'tenure_drain_duration_seconds_count')).toEqual({
    '{outcome="clean"}': 2,
    '{outcome="aborted"}': 0,
    '{outcome="wedged"}': 0,
  })
})

test('a transferred term is counted as transferred, and a term whose transfer failed as a step-down', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  await managed.start()
  await managed.state('leading')
  await managed.manager.stepDown({ to: 'nobody', answerTimeoutMs: 1, cooldownMs: 0 })
  await managed.state('leading')
  await using other = manage({ identity: 'replica-b', store: managed.store, controllers: [controller('sweeper')] })
  await other.start()
  await managed.manager.stepDown({ to: 'replica-b' })
  await other.state('leading')
  const terms = await values(managed, 'tenure_terms_total')
  expect(Object.entries(terms).filter(([, count]) => count > 0)).toEqual([
    ['{name="janitor",end="step-down"}', 1],
    ['{name="janitor",end="transferred"}', 1],
  ])
})

test('tasks that have not settled are counted by controller, and their series go with the term', async () => {
  const spawn = (count: number) =>
    controller(`sweeper-${count}`, (term) => {
      for (let task = 0; task < count; task++) term.every(60_000, () => {}).catch(() => {})
    })
  await using managed = manage({ controllers: [spawn(1), spawn(3)] })
  await managed.start()
  await managed.state('leading')
  expect(await values(managed, 'tenure_tasks')).toEqual({
    '{controller="sweeper-1"}': 2,
    '{controller="sweeper-3"}': 4,
  })
  await managed.manager.stepDown({ cooldownMs: 60_000 })
  expect(await values(managed, 'tenure_tasks')).toEqual({})
})

/** A lock whose writes fail as told, once for each entry, after the first write. */
function failingLock(store: MemoryLeaseStore, failures: LockRequestError[]): Lock {
  const lock = store.lock('janitor')
  return {
    description: lock.description,
    get: (options) => lock.get(options),
    create: (record, options) => lock.create(record, options),
    watch: (observer) => lock.watch(observer),
    close: () => lock.close(),
    update: async (base, record, options) => {
      const failure = failures.shift()
      if (failure !== undefined) throw failure
      return lock.update(base, record, options)
    },
  }
}

test('renewals are timed; a repeated renewal counts as the slow path and by its failure', async () => {
  const store = new MemoryLeaseStore()
  const failures = [new LockRequestError('throttled', 'later'), new LockRequestError('unknown-outcome', 'timeout')]
  await using managed = manage({
    store,
    controllers: [controller('sweeper')],
    manager: {
      lease: { name: 'janitor', leaseDurationMs: 1000, renewDeadlineMs: 800, retryPeriodMs: 20, abortGraceMs: 100 },
      createLock: () => failingLock(store, failures),
    },
  })
  await managed.start()
  await managed.event((event) => event.kind === 'renewed')
  await managed.event((event) => event.kind === 'renewed')
  expect(await values(managed, 'leader_election_slowpath_total')).toEqual({ '{name="janitor"}': 1 })
  const counts = await values(managed, 'tenure_renew_failures_total')
  expect(counts).toMatchObject({ '{reason="throttled"}': 1, '{reason="unknown-outcome"}': 1, '{reason="conflict"}': 0 })
  const { '': renewals } = await values(managed, 'tenure_renew_duration_seconds_count')
  expect(renewals).toBeGreaterThanOrEqual(2)
})

test('feature gates are shown with their stage', async () => {
  await using managed = manage({ manager: { featureGates: { ReleaseLockOnExit: false } } })
  await managed.start()
  expect(await values(managed, 'kubernetes_feature_enabled')).toEqual({
    '{name="GracefulLeaderTransition",stage="BETA"}': 1,
    '{name="ReleaseLockOnExit",stage="BETA"}': 0,
  })
})

test('what keeps a wedged drain from its end is shown by controller, in the metrics and in /livez, until it ends', async () => {
  const stuck = Promise.withResolvers<void>()
  await using managed = manage({
    controllers: [
      controller('sweeper', async (term) => {
        void term.spawn('export', () => stuck.promise)
        void term.spawn('import', () => stuck.promise)
        await term.sleep(1e8)
      }),
    ],
    manager: { onWedged: 'hold', lease: { name: 'janitor', drainTimeoutMs: 10, abortGraceMs: 10 } },
  })
  await managed.start()
  await managed.state('leading')
  expect(await values(managed, 'tenure_stuck_tasks')).toEqual({})
  void managed.manager.stepDown({ cooldownMs: 60_000 })
  await managed.state('wedged')
  expect(await values(managed, 'tenure_stuck_tasks')).toEqual({ '{name="janitor",controller="sweeper"}': 2 })
  const health = await managed.get('/livez')
  expect(health.status).toBe(500)
  expect(health.body).toMatch(/sweeper\/export \(\d+ ms, started at .*framework-metrics\.test\.ts:\d+:\d+\)/)
  stuck.resolve()
  await managed.state('following')
  expect(await values(managed, 'tenure_stuck_tasks')).toEqual({})
})

test('warm-ups are counted by how they went', async () => {
  const store = new MemoryLeaseStore()
  await using leader = manage({ store, controllers: [controller('sweeper')] })
  await using follower = manage({ store, identity: 'replica-b' })
  follower.manager.register(() => ({ name: 'sweeper', warmUp: async () => {}, run: (term) => term.sleep(1e8) }), {
    warmUp: 'following',
  })
  await leader.start()
  await leader.state('leading')
  const warm = follower.event(({ kind }) => kind === 'warm-up')
  await follower.start()
  await warm
  expect(await values(follower, 'tenure_warm_ups_total')).toEqual({
    '{name="janitor",outcome="ready"}': 1,
    '{name="janitor",outcome="failed"}': 0,
    '{name="janitor",outcome="cancelled"}': 0,
  })
})
