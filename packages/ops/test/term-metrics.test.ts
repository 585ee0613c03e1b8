import perfHooks from 'node:perf_hooks'
import {
  Controller,
  type Logger,
  Manager,
  MemoryLeaseStore,
  OptionsError,
  type Term,
  TermEndedError,
} from '@tenure/core'
import { silentLogger, systemClock } from '@tenure/core/internal'
import { metrics, TermRegistries } from '@tenure/ops'
import { Counter, Gauge, Histogram, register, Registry, Summary } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { createMetricsPage } from '../src/metrics/metrics-page.ts'
import { BoundedWaits } from '../src/server/bounded-waits.ts'
import { controller, manage, samples, untilAborted } from './managed-ops.ts'

/** Runs one term of a controller that defines what `define` defines, and returns that and its term after the end of the term. */
async function afterTerm<T>(define: (term: Term) => T): Promise<{ readonly made: T; readonly term: Term }> {
  let result: { readonly made: T; readonly term: Term } | undefined
  await using managed = manage({
    controllers: [controller('sweeper', (term) => (result = { made: define(term), term }))],
  })
  await managed.start()
  await managed.state('leading')
  await managed.manager.stepDown()
  if (result === undefined) throw new Error('the controller did not run')
  return result
}

const base = (term: Term) => ({ name: 'swept', help: 'Swept.', labelNames: ['kind'], registers: [metrics(term)] })
const kind = { kind: 'a' }

test('what a run defines is served while it lasts, beside the metrics of the framework', async () => {
  await using managed = manage({
    controllers: [controller('sweeper', (term) => new Counter(base(term)).inc(kind, 2))],
  })
  await managed.start()
  await managed.state('leading')
  const { body, headers } = await managed.get('/metrics')
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(body).toContain('# HELP swept Swept.\n# TYPE swept counter\nswept{kind="a"} 2\n')
  expect(body).toContain('leader_election_master_status{name="janitor"} 1\n')
  await managed.manager.stepDown()
  expect(samples((await managed.get('/metrics')).body, 'swept')).toEqual([])
})

const uses: readonly (readonly [string, (term: Term) => () => unknown])[] = [
  ['counter.inc()', (term) => unbound(new Counter(base(term)), (metric) => metric.inc(kind))],
  ['counter.reset()', (term) => unbound(new Counter(base(term)), (metric) => metric.reset())],
  ['counter.remove()', (term) => unbound(new Counter(base(term)), (metric) => metric.remove(kind))],
  ['a child of a counter', (term) => unbound(new Counter(base(term)).labels('a'), (child) => child.inc())],
  ['a child taken late', (term) => unbound(new Counter(base(term)), (metric) => metric.labels('a').inc())],
  ['gauge.set()', (term) => unbound(new Gauge(base(term)), (metric) => metric.set(kind, 1))],
  ['gauge.inc()', (term) => unbound(new Gauge(base(term)), (metric) => metric.inc(kind))],
  ['gauge.dec()', (term) => unbound(new Gauge(base(term)), (metric) => metric.dec(kind))],
  ['gauge.setToCurrentTime()', (term) => unbound(new Gauge(base(term)), (metric) => metric.setToCurrentTime(kind))],
  ['a child of a gauge', (term) => unbound(new Gauge(base(term)).labels('a'), (child) => child.set(1))],
  ['the end of a timer of a gauge', (term) => new Gauge(base(term)).startTimer(kind)],
  ['histogram.observe()', (term) => unbound(new Histogram(base(term)), (metric) => metric.observe(kind, 1))],
  ['histogram.zero()', (term) => unbound(new Histogram(base(term)), (metric) => metric.zero(kind))],
  ['histogram.reset()', (term) => unbound(new Histogram(base(term)), (metric) => metric.reset())],
  ['a child of a histogram', (term) => unbound(new Histogram(base(term)).labels('a'), (child) => child.observe(1))],
  ['the end of a timer of a histogram', (term) => new Histogram(base(term)).startTimer(kind)],
  ['summary.observe()', (term) => unbound(new Summary(base(term)), (metric) => metric.observe(kind, 1))],
  ['summary.reset()', (term) => unbound(new Summary(base(term)), (metric) => metric.reset())],
  ['a child of a summary', (term) => unbound(new Summary(base(term)).labels('a'), (child) => child.observe(1))],
  ['another metric in the registry', (term) => unbound(base(term), (config) => new Counter(config))],
]

function unbound<T>(handle: T, use: (handle: T) => unknown): () => unknown {
  return () => use(handle)
}

test.each(uses)('%s throws after the end of its run, naming controller, lease and epoch', async (_name, define) => {
  const { made: use, term } = await afterTerm(define)
  expect(use).toThrow(TermEndedError)
  expect(use).toThrow(
    `Metric \`swept\` belongs to a run of controller \`sweeper\` that has ended (lease \`janitor\`, epoch ${term.epoch}): ` +
      'define metrics in every run with `metrics(term)` and use them in that run only',
  )
})

test.each(uses)('%s works while the run lasts', async (_name, define) => {
  const used = Promise.withResolvers<unknown>()
  const use = (term: Term) => used.resolve(run(define(term)))
  await using managed = manage({ controllers: [controller('sweeper', use)] })
  await managed.start()
  expect(await used.promise).not.toBeInstanceOf(Error)
})

function run(use: () => unknown): unknown {
  try {
    return use()
  } catch (error) {
    return error
  }
}

test('a metric still works in the cleanups of its run', async () => {
  const outcome = Promise.withResolvers<unknown>()
  await afterTerm((term) => {
    const swept = new Counter(base(term))
    term.defer(() => outcome.resolve(run(() => swept.inc(kind))))
  })
  expect(await outcome.promise).not.toBeInstanceOf(Error)
})

test('asking for the registry of a run that has ended throws', async () => {
  const { term } = await afterTerm(() => {})
  expect(() => metrics(term)).toThrow(TermEndedError)
  expect(() => metrics(term)).toThrow('The metrics registry belongs to a run of controller `sweeper` that has ended')
})

test('a metric that is served by another registry as well goes on there after the run', async () => {
  const other = new Registry()
  const { made } = await afterTerm((term) => new Counter({ ...base(term), registers: [other, metrics(term)] }))
  made.inc(kind)
  expect(await other.metrics()).toContain('swept{kind="a"} 1')
})

test('registries of terms are used once', async () => {
  const store = new MemoryLeaseStore()
  await using manager = new Manager({
    identity: 'replica-a',
    lease: { name: 'janitor' },
    createLock: ({ name }) => store.lock(name),
  })
  const registries = new TermRegistries()
  manager.use(registries)
  expect(() => manager.use(registries)).toThrow(
    'Expected `use()` to be called once for each extension, got `term-registries` twice',
  )
})

test('without an operations port, asking for metrics throws an error that says so', async () => {
  const outcome = Promise.withResolvers<unknown>()
  const store = new MemoryLeaseStore()
  await using manager = new Manager({
    identity: 'replica-a',
    lease: { name: 'janitor' },
    createLock: ({ name }) => store.lock(name),
  })
  manager.register(controller('sweeper', (term) => outcome.resolve(run(() => metrics(term)))))
  void manager.start()
  expect(await outcome.promise).toBeInstanceOf(OptionsError)
  expect(await outcome.promise).toMatchObject({
    code: 'BAD_OPTIONS',
    message:
      'Expected the manager of controller `sweeper` to have registries for its terms: give it `use(createOps())`, or ' +
      '`use(new TermRegistries())`',
  })
})

test('a controller that restarts within its term gets a fresh registry, and the old one is gone', async () => {
  const seen: Registry[] = []
  const restarted = Promise.withResolvers<void>()
  class Flaky extends Controller {
    override readonly name = 'flaky'

    override async run(term: Term): Promise<void> {
      new Counter(base(term)).inc(kind, 1)
      seen.push(metrics(term))
      if (seen.length === 1) throw new Error('first run')
      restarted.resolve()
      await untilAborted(term.signal)
    }
  }
  await using managed = manage({ controllers: [() => new Flaky()], manager: { restart: { backoffMs: 1 } } })
  await managed.start()
  await restarted.promise
  expect(seen[1]).not.toBe(seen[0])
  expect(samples((await managed.get('/metrics')).body, 'swept')).toEqual(['swept{kind="a"} 1'])
})

test('controllers that define the same metric are served as one', async () => {
  const define = (value: number) => (term: Term) => new Counter(base(term)).inc(kind, value)
  await using managed = manage({ controllers: [controller('a', define(2)), controller('b', define(3))] })
  await managed.start()
  await managed.state('leading')
  const { body } = await managed.get('/metrics')
  expect(samples(body, 'swept', '# TYPE swept')).toEqual(['# TYPE swept counter', 'swept{kind="a"} 5'])
})

function recordingLogger(lines: [object, string][]): Logger {
  const warn: Logger['warn'] = (fields, message) => void lines.push([fields, message])
  const logger: Logger = { ...silentLogger, warn, child: () => logger }
  return logger
}

test('a metric that contradicts another or fails is left out and reported, and the page is served', async () => {
  const lines: [object, string][] = []
  const fails = (term: Term) => ({
    ...base(term),
    name: 'broken',
    collect() {
      throw new Error('no connection')
    },
  })
  await using managed = manage({
    ops: { logger: recordingLogger(lines) },
    controllers: [
      controller('a', (term) => new Counter(base(term)).inc(kind, 2)),
      controller('b', (term) => new Gauge(base(term)).set(kind, 3)),
      controller('c', (term) => new Gauge(fails(term))),
    ],
  })
  await managed.start()
  await managed.state('leading')
  await managed.get('/metrics')
  const { status, body } = await managed.get('/metrics')
  expect(status).toBe(200)
  expect(samples(body, 'swept', 'broken', 'leader_election_master', 'tenure_metrics_skipped')).toEqual([
    'leader_election_master_status{name="janitor"} 1',
    'swept{kind="a"} 2',
    'tenure_metrics_skipped{metric="broken",reason="collect-failed"} 1',
    'tenure_metrics_skipped{metric="swept",reason="type-conflict"} 1',
  ])
  expect(lines.filter(([, line]) => line.includes('not served'))).toEqual([
    [
      { event: 'metric-skipped', metric: 'broken', reason: 'collect-failed', err: new Error('no connection') },
      'metric broken is not served: collect-failed',
    ],
    [
      { event: 'metric-skipped', metric: 'swept', reason: 'type-conflict', err: undefined },
      'metric swept is not served: type-conflict',
    ],
  ])
})

test('of metrics that are left out, only 1000 are logged, each once', async () => {
  const lines: [object, string][] = []
  const collect = async () =>
    Array.from({ length: 1001 }, (_, index) => ({ kind: 'failed' as const, name: `m${index}`, error: new Error('no') }))
  const page = createMetricsPage({ collect, logger: recordingLogger(lines) })
  for (let time = 0; time < 2; time++) {
    const { body } = await page(new BoundedWaits(systemClock, 1000))
    expect(samples(body, 'tenure_metrics_skipped{metric="m1000"')).toHaveLength(1)
  }
  expect(lines).toHaveLength(1000)
  expect(lines.at(-1)?.[0]).toMatchObject({ metric: 'm999' })
})

test('a metric that never answers is left out after the timeout', async () => {
  const lines: [object, string][] = []
  const stuck = (term: Term) => ({ ...base(term), collect: () => new Promise<void>(() => {}) })
  await using managed = manage({
    ops: { checkTimeoutMs: 20, logger: recordingLogger(lines) },
    controllers: [controller('a', (term) => new Gauge(stuck(term)))],
  })
  await managed.start()
  await managed.state('leading')
  const { status, body } = await managed.get('/metrics')
  expect(status).toBe(200)
  expect(body).toContain('tenure_metrics_skipped{metric="swept",reason="collect-failed"} 1')
  expect(lines[0]?.[0]).toMatchObject({ err: { message: 'collect() timed out after 20 ms' } })
})

test('default labels of a run are served', async () => {
  const define = (term: Term) => {
    metrics(term).setDefaultLabels({ shard: 'north', kind: 'none' })
    new Counter(base(term)).inc(kind)
  }
  await using managed = manage({ controllers: [controller('sweeper', define)] })
  await managed.start()
  await managed.state('leading')
  expect(samples((await managed.get('/metrics')).body, 'swept')).toEqual(['swept{shard="north",kind="a"} 1'])
})

test('a run can clear its registry, with its default labels', async () => {
  const define = (term: Term) => {
    metrics(term).setDefaultLabels({ shard: 'north' })
    new Counter(base(term)).inc(kind)
    metrics(term).clear()
    new Counter({ ...base(term), name: 'swept_again' }).inc(kind)
  }
  await using managed = manage({ controllers: [controller('sweeper', define)] })
  await managed.start()
  await managed.state('leading')
  expect(samples((await managed.get('/metrics')).body, 'swept')).toEqual(['swept_again{kind="a"} 1'])
})

test('what is defined in the registry of the process outlives terms, and the global registry stays empty', async () => {
  await using managed = manage({ controllers: [controller('sweeper')] })
  const total = new Counter({ name: 'swept_total', help: 'Swept.', registers: [managed.ops.registry] })
  await managed.start()
  await managed.state('leading')
  await managed.manager.stepDown()
  total.inc()
  expect(samples((await managed.get('/metrics')).body, 'swept_total')).toEqual(['swept_total 1'])
  expect(register.getMetricsAsArray()).toEqual([])
})

let collections = 0

test('the metrics of the process are collected from the start on, and once, however many ports serve them', async () => {
  using monitor = vi.spyOn(perfHooks, 'monitorEventLoopDelay')
  await using first = manage({ ops: { processMetrics: true } })
  await using second = manage({ ops: { processMetrics: true } })
  await using third = manage({ ops: { processMetrics: false } })
  expect(monitor).not.toHaveBeenCalled()
  for (const managed of [first, second, third]) await managed.start()
  expect(collections + monitor.mock.calls.length).toBe(1)
  for (const managed of [first, second]) {
    expect(samples((await managed.get('/metrics')).body, 'nodejs_version_info')).toHaveLength(1)
  }
  expect(samples((await third.get('/metrics')).body, 'nodejs_', 'process_')).toEqual([])
  // Counted over repetitions of this test too: the process is still the same.
  collections += monitor.mock.calls.length
  expect(collections).toBe(1)
})
