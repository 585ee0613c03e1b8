import { Controller, OptionsError } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { createOps, metrics, type OpsOptions } from '@tenure/ops'
import { Counter, Gauge, Registry } from 'prom-client'
import { describe, expect, test, vi } from 'vitest'
import { processMetrics } from '../src/metrics/process-metrics.ts'
import { manage } from './managed-ops.ts'

vi.mock('../src/metrics/process-metrics.ts', { spy: true })

const linesOf = (page: string, metric: string) =>
  page.split('\n').filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))

function registryWith(name: string, value: number): Registry {
  const registry = new Registry()
  new Counter({ name, help: name, registers: [registry] }).inc(value)
  new Counter({ name: 'others_total', help: 'Others.', registers: [registry] }).inc()
  return registry
}

class Janitor extends Controller {
  override readonly name = 'janitor'
  override async run(term: Parameters<Controller['run']>[0]): Promise<void> {
    new Counter({ name: 'swept_total', help: 'swept', registers: [metrics(term)] }).inc(3)
    await term.sleep(60_000)
  }
}

describe('Without a port', () => {
  test('one page has the metrics of Tenure, of the term and of registries of your own', async () => {
    const own = registryWith('orders_total', 5)
    own.setDefaultLabels({ app: 'shop' })
    await using managed = manage({ ops: { port: false, registries: [own] }, controllers: [() => new Janitor()] })
    await managed.start()
    await managed.state('leading')
    expect(managed.ops.address).toBeUndefined()
    const { contentType, body } = await managed.ops.metrics()
    expect(contentType).toContain('text/plain')
    expect(linesOf(body, 'orders_total')).toEqual(['orders_total{app="shop"} 5'])
    expect(linesOf(body, 'swept_total')).toEqual(['swept_total 3'])
    expect(linesOf(body, 'leader_election_master_status')).toEqual(['leader_election_master_status{name="janitor"} 1'])
  })

  test('the metrics of a term leave the page with it', async () => {
    await using managed = manage({ ops: { port: false }, controllers: [() => new Janitor()] })
    await managed.start()
    await managed.state('leading')
    expect((await managed.ops.metrics()).body).toContain('swept_total')
    await managed.manager.stepDown({ cooldownMs: 60_000 })
    expect((await managed.ops.metrics()).body).not.toContain('swept_total')
  })
})

test.each<[string, OpsOptions, boolean]>([
  ['if they are served', {}, true],
  ['unless they are switched off', { processMetrics: false }, false],
  ['if a registry of your own has other metrics', { registries: [registryWith('orders_total', 5)] }, true],
  [
    'unless a registry of your own has them',
    { processMetrics: true, registries: [registryWith('process_cpu_user_seconds_total', 5)] },
    false,
  ],
])('the metrics of the process are collected from the start on, %s', async (_when, options, isCollected) => {
  vi.mocked(processMetrics).mockClear()
  await using managed = manage({ ops: { port: false, processMetrics: true, ...options } })
  expect(processMetrics).not.toHaveBeenCalled()
  await managed.start()
  expect(vi.mocked(processMetrics).mock.calls.length > 0).toBe(isCollected)
})

describe('A registry of your own', () => {
  test('is served on the operations port', async () => {
    await using managed = manage({ ops: { registries: [registryWith('orders_total', 5)] } })
    await managed.start()
    expect(linesOf((await managed.get('/metrics')).body, 'orders_total')).toEqual(['orders_total 5'])
  })

  test('with the metrics of the process keeps those of Tenure away, so that none counts twice', async () => {
    const own = registryWith('process_cpu_user_seconds_total', 5)
    const { body } = await createOps({ port: false, registries: [own] }).metrics()
    expect(linesOf(body, 'process_cpu_user_seconds_total')).toEqual(['process_cpu_user_seconds_total 5'])
    expect(body).not.toContain('process_start_time_seconds')
  })

  test('that fails is left out and named, and the page is served', async () => {
    const own = new Registry()
    const collect = () => {
      throw new Error('not now')
    }
    own.registerMetric(new Gauge({ name: 'broken', help: 'broken', registers: [], collect }))
    const { body } = await createOps({ port: false, processMetrics: false, registries: [own] }).metrics()
    expect(linesOf(body, 'tenure_metrics_skipped')).toEqual([
      'tenure_metrics_skipped{metric="ops.registries",reason="collect-failed"} 1',
    ])
  })

  test('that does not answer is left out after the timeout, and logged', async () => {
    const lines: unknown[] = []
    const logger = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(line) }
    const own = { getMetricsAsJSON: () => new Promise<never>(() => {}), getMetricsAsArray: () => [] }
    const ops = createOps({ port: false, processMetrics: false, checkTimeoutMs: 5, registries: [own], logger })
    await ops.metrics()
    await ops.metrics()
    expect(lines).toEqual([
      [
        {
          event: 'metric-skipped',
          metric: 'ops.registries',
          reason: 'collect-failed',
          err: new Error('getMetricsAsJSON() timed out after 5 ms'),
        },
        'metric ops.registries is not served: collect-failed',
      ],
    ])
  })

  test.each([{}, [{}], [null], ['global'], [{ getMetricsAsJSON: () => {} }], 'global'])(
    'is expected to be one: %j is refused',
    (registries) => {
      const options = { port: 0, registries } as unknown as OpsOptions
      expect(() => createOps(options)).toThrow(OptionsError)
      expect(() => createOps(options)).toThrow(
        'Expected `ops.registries` to be an array of prom-client registries, such as `[register]`',
      )
    },
  )
})

test('A server of your own answers for the health of the manager', async () => {
  await using managed = manage({ ops: { port: false }, controllers: [() => new Janitor()] })
  await managed.start()
  await managed.state('leading')
  const results = await managed.manager.livez.run()
  expect(results.map(({ name }) => name)).toContain('leader-election')
  expect(results.filter(({ failure }) => failure !== undefined)).toEqual([])
})
