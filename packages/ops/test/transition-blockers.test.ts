/*
 * What Kubernetes found to stand in the way of following again in the same process: registering metrics a second time, taking
 * health checks out again, and freeing everything that a term took.
 *
 * @see https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/5366-graceful-leader-transition
 */
import { MemoryLeaseStore, type Term } from '@tenure/core'
import { metrics } from '@tenure/ops'
import { Counter, Gauge, Histogram, register, Summary } from 'prom-client'
import { expect, test, vi } from 'vitest'
import { countingClock } from './counting-clock.ts'
import { controller, manage, type ManagedOps, samples, untilAborted } from './managed-ops.ts'

const TERMS = 50

/** Leads that many terms in a row; calls `inTerm` in each of them, with the page of metrics. */
async function leadTerms(managed: ManagedOps, inTerm: (page: string, index: number) => void): Promise<void> {
  for (let index = 0; index < TERMS; index++) {
    await managed.state('leading')
    inTerm((await managed.get('/metrics')).body, index)
    await managed.manager.stepDown({ cooldownMs: 0 })
  }
}

function defineAll(term: Term): void {
  const registers = [metrics(term)]
  const labelNames = ['epoch']
  const labels = { epoch: String(term.epoch) }
  const help = 'Defined by every term.'
  new Counter({ name: 'work_total', help, labelNames, registers }).inc(labels)
  new Gauge({ name: 'work_depth', help, labelNames, registers }).set(labels, 1)
  new Histogram({ name: 'work_seconds', help, labelNames, registers, buckets: [1] }).observe(labels, 0.5)
  new Summary({ name: 'work_size', help, labelNames, registers, percentiles: [0.5] }).observe(labels, 1)
}

test('metric re-registration: the same controller defines the same metrics in 50 terms in a row, and no series is left over', async () => {
  await using managed = manage({ controllers: [controller('worker', defineAll)] })
  await managed.start()
  const epochs: string[] = []
  await leadTerms(managed, (page) => {
    const present = samples(page, 'work_')
    expect(present).toHaveLength(2 + 4 + 3)
    const [epoch = ''] = /epoch="\d+"/.exec(present[0] ?? '') ?? []
    expect(present.every((line) => line.includes(epoch))).toBe(true)
    epochs.push(epoch)
  })
  expect(new Set(epochs).size).toBe(TERMS)
  expect(managed.events.filter(({ kind }) => kind === 'controller-failed')).toEqual([])
  expect(samples((await managed.get('/metrics')).body, 'tenure_metrics_skipped')).toEqual([])
})

test('health-check deregistration: the checks of a term are served with it, and vanish with it', async () => {
  const check = (term: Term) => {
    term.health.register('cache.synced', () => {
      throw new Error(`not synced in term ${term.epoch}`)
    })
  }
  await using managed = manage({ controllers: [controller('worker', check)] })
  await managed.start()
  await managed.state('leading')
  const epoch = managed.manager.state.kind === 'leading' ? managed.manager.state.epoch : 0n
  expect(await managed.get('/livez')).toMatchObject({
    status: 500,
    body: expect.stringContaining(`[-]worker.cache.synced failed: not synced in term ${epoch}\n`),
  })
  expect((await managed.get('/livez/worker.cache.synced')).status).toBe(500)
  await managed.manager.stepDown({ cooldownMs: 60_000 })
  expect((await managed.get('/livez?verbose')).body).toBe('[+]leader-election ok\n[+]ping ok\nlivez check passed\n')
  expect((await managed.get('/livez/worker.cache.synced')).status).toBe(404)
})

const count = (kind: string) => process.getActiveResourcesInfo().filter((active) => active === kind).length

test('resource cleanup: sockets, timers, listeners and registries are back where they were when all is over', async () => {
  const start = { server: count('TCPServerWrap'), socket: count('TCPSocketWrap') }
  const { clock, pending } = countingClock()
  const signals: AbortSignal[] = []
  const run = async (term: Term) => {
    defineAll(term)
    signals.push(term.signal)
    await untilAborted(term.signal)
  }
  const managed = manage({ controllers: [controller('worker', run)], manager: { clock }, ops: { clock } })
  const registered = managed.ops.registry.getMetricsAsArray().length
  const listeners = process.eventNames().map((name) => [name, process.listenerCount(name)])
  await managed.start()
  expect(pending()).toBeGreaterThan(0)
  await leadTerms(managed, () => {})
  expect(signals.length).toBeGreaterThanOrEqual(TERMS)
  expect(signals.slice(0, TERMS).every(({ aborted }) => aborted)).toBe(true)
  expect(managed.ops.registry.getMetricsAsArray()).toHaveLength(registered)
  expect(register.getMetricsAsArray()).toEqual([])
  await managed[Symbol.asyncDispose]()
  expect(pending()).toBe(0)
  expect(process.eventNames().map((name) => [name, process.listenerCount(name)])).toEqual(listeners)
  await vi.waitFor(() => {
    expect(count('TCPServerWrap')).toBe(start.server)
    expect(count('TCPSocketWrap')).toBe(start.socket)
  }, 20_000)
})

test('nothing of a follower changes while it follows: health and metrics stay the same, byte for byte', async () => {
  const store = new MemoryLeaseStore()
  const lease = { name: 'janitor', leaseDurationMs: 1000, renewDeadlineMs: 800, retryPeriodMs: 20, abortGraceMs: 100 }
  await using leader = manage({ store, controllers: [controller('worker', defineAll)], manager: { lease } })
  await using follower = manage({
    store,
    identity: 'replica-b',
    manager: { lease },
    controllers: [controller('worker')],
  })
  await leader.start()
  await leader.state('leading')
  await follower.start()
  await follower.state('following')
  // Readiness changes once, when the follower has joined the standbys.
  while ((await follower.get('/readyz')).status !== 200) await leader.event(({ kind }) => kind === 'renewed')
  const pages = async () => ({
    livez: (await follower.get('/livez?verbose')).body,
    readyz: (await follower.get('/readyz?verbose')).body,
    healthz: (await follower.get('/healthz')).body,
    metrics: (await follower.get('/metrics')).body.replaceAll(/^tenure_(event_loop_stall|clock)_seconds.*\n/gm, ''),
  })
  const first = await pages()
  expect(first.healthz).toBe('ok')
  for (let renewal = 0; renewal < 10; renewal++) {
    await leader.event((event) => event.kind === 'renewed')
    expect(await pages()).toEqual(first)
  }
})
