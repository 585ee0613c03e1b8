import { KubeConfig } from '@kubernetes/client-node'
import { Manager } from '@tenure/core'
import { FileLock } from '@tenure/file-lock'
import { Counter } from 'prom-client'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createManager,
  type CreateManagerOptions,
  KubeConfigError,
  lead,
  MemoryLeaseStore,
  metrics,
  OptionsError,
  type Lock,
  type Term,
} from 'tenure'

const warnings: Error[] = []
const onWarning = (warning: Error) => void warnings.push(warning)

afterEach(() => {
  process.removeListener('warning', onWarning)
  warnings.length = 0
})

function kubeConfig(): KubeConfig {
  const config = new KubeConfig()
  config.loadFromClusterAndUser({ name: 'test', server: 'http://127.0.0.1:1', skipTLSVerify: false }, { name: 'test' })
  return config
}

function version1(config: KubeConfig): object {
  return new Proxy(config, { has: (target, name) => !String(name).startsWith('createDispatcher') && name in target })
}

const quiet = { env: {}, argv: [], ops: false, signals: false, logLevel: 'silent' } as const

describe('lead()', () => {
  it('runs the work as the controller `work`, and resolves when the process stops', async () => {
    const store = new MemoryLeaseStore()
    const controllers: string[] = []
    await lead(
      { ...quiet, signals: true, lease: { name: 'janitor' }, lock: ({ name }) => store.lock(name) },
      async (term) => {
        controllers.push(term.controller)
        process.emit('SIGTERM', 'SIGTERM')
        await Promise.allSettled([term.sleep(60_000)])
      },
    )
    expect(controllers).toEqual(['work'])
  })
})

describe('createManager()', () => {
  it('may refuse any number of times in one turn of the loop, without a warning or a listener that stays', async () => {
    process.on('warning', onWarning)
    const before = process.listenerCount('uncaughtExceptionMonitor')
    for (let call = 0; call < 30; call++) expect(() => createManager({ ...quiet })).toThrow(OptionsError)
    await new Promise((resolve) => setImmediate(resolve))
    await new Promise((resolve) => setImmediate(resolve))
    expect(process.listenerCount('uncaughtExceptionMonitor')).toBe(before)
    expect(warnings).toEqual([])
  })

  it('gives what it was given for the operations port, also where that opens no port', () => {
    const given = { ...quiet, lease: { name: 'janitor' }, kubeConfig: kubeConfig() }
    expect(createManager({ ...given, ops: { port: false } }).ops).toMatchObject({ address: undefined })
    expect(createManager(given).ops).toBeUndefined()
  })

  it('gives the kubeconfig that it was given', () => {
    const given = kubeConfig()
    expect(createManager({ ...quiet, lease: { name: 'janitor' }, kubeConfig: given }).kubeConfig).toBe(given)
  })

  it.each<[string, (config: KubeConfig) => object, RegExp]>([
    // What version 1.4 has: agents, and requests without a dispatcher.
    [
      'of version 1 of client-node',
      version1,
      /`kubeConfig`.*got one of version 1\. Install @kubernetes\/client-node@\^2/,
    ],
    ['that is its text', () => ({ clusters: [] }), /`kubeConfig`.*an object without `getCurrentCluster\(\)`/],
  ])('refuses at once a kubeconfig %s', (_name, made, message) => {
    const options = { ...quiet, lease: { name: 'janitor' }, kubeConfig: made(kubeConfig()) as KubeConfig }
    expect(() => createManager(options)).toThrow(OptionsError)
    expect(() => createManager(options)).toThrow(message)
  })

  it('has no kubeconfig to give before it was read', () => {
    const manager = createManager({ ...quiet, lease: { name: 'janitor' } })
    expect(() => manager.kubeConfig).toThrow(KubeConfigError)
  })

  it('refuses another lease whose name Kubernetes would not take', () => {
    const manager = createManager({ ...quiet, lease: { name: 'janitor' }, kubeConfig: kubeConfig() })
    expect(() => manager.candidacy({ name: 'Not!' })).toThrow('Expected `lease.name` to be an RFC 1123 subdomain')
    expect(() => manager.candidacy({ name: 'south', labels: { '!': '' } })).toThrow('`lease.labels`')
  })
})

describe('createManager() gives the manager the extensions', () => {
  const given = { env: {}, argv: [], logLevel: 'silent', lease: { name: 'janitor' }, kubeConfig: kubeConfig() } as const
  const { kubeConfig: _, ...withoutCluster } = given

  it.each<[string, CreateManagerOptions, readonly string[]]>([
    ['all', given, ['signals', 'ops', 'cluster', 'lease-events']],
    ['without signals', { ...given, signals: false }, ['ops', 'cluster', 'lease-events']],
    ['without a port', { ...given, ops: false }, ['signals', 'term-registries', 'cluster', 'lease-events']],
    ['without Events', { ...given, events: false }, ['signals', 'ops', 'cluster']],
    [
      'without a cluster',
      { ...withoutCluster, lock: ({ name }) => new MemoryLeaseStore().lock(name) },
      ['signals', 'ops'],
    ],
    [
      'with a trace',
      { ...given, env: { TENURE_TRACE: '/trace' } },
      ['trace', 'signals', 'ops', 'cluster', 'lease-events'],
    ],
    ['without a trace', { ...given, env: { TENURE_TRACE: '' } }, ['signals', 'ops', 'cluster', 'lease-events']],
  ])('%s', (_what, options, names) => {
    using use = vi.spyOn(Manager.prototype, 'use')
    createManager(options)
    expect(use.mock.calls.map(([extension]) => extension.name)).toEqual(names)
  })
})

describe('createManager() passes on', () => {
  it.each<[string, object]>([
    ['onWedged', { onWedged: 'wait' }],
    ['restart', { restart: { backoffMs: -1 } }],
    ['groups', { groups: { caches: -1 } }],
    ['watchdog', { watchdog: 'yes' }],
    ['rollout', { rollout: 'last' }],
    ['revision', { revision: '' }],
    ['zone', { zone: '' }],
  ])('`%s` to the manager, which checks it', (name, option) => {
    const options = { ...quiet, lease: { name: 'janitor' }, ...option } as CreateManagerOptions
    expect(() => createManager(options)).toThrow(OptionsError)
    expect(() => createManager(options)).toThrow(`\`${name}`)
  })
})

describe('createManager() with a lock of its own', () => {
  const lock = (): Lock => new MemoryLeaseStore().lock('janitor')

  /** Runs a replica until it leads, and stops it. */
  async function leadOnce(options: CreateManagerOptions): Promise<bigint> {
    const manager = createManager({ ...quiet, ...options })
    const began = Promise.withResolvers<bigint>()
    manager.register(() => ({
      name: 'work',
      run: async (term: Term) => {
        began.resolve(term.epoch)
        await term.sleep(1e9)
      },
    }))
    const running = manager.start()
    const epoch = await began.promise
    await manager.stop()
    await running
    return epoch
  }

  it('leads without a cluster, on a lease in memory', async () => {
    const store = new MemoryLeaseStore()
    expect(await leadOnce({ lease: { name: 'Any name!' }, lock: ({ name }) => store.lock(name) })).toBe(1n)
    expect(store.read('Any name!')).toMatchObject({ record: { holderIdentity: '' } })
  })

  it('hands out the metrics of a term although it has no operations port', async () => {
    const counted: unknown[] = []
    const manager = createManager({ ...quiet, lease: { name: 'janitor' }, lock })
    manager.register(() => ({
      name: 'work',
      run: async (term: Term) => {
        const done = new Counter({ name: 'done_total', help: 'done', registers: [metrics(term)] })
        done.inc()
        counted.push(await metrics(term).getSingleMetricAsString('done_total'))
        void manager.stop()
        await term.sleep(1e9)
      },
    }))
    await manager.start()
    expect(counted).toEqual([expect.stringContaining('done_total 1')])
    expect(manager.ops).toBeUndefined()
  })

  it('leads without a cluster, on a lease in files, again and again with growing epochs', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tenure-manager-'))
    try {
      const options = { lease: { name: 'x' }, lock: () => new FileLock({ path: join(folder, 'x.lease') }) }
      const [first, second] = [await leadOnce(options), await leadOnce(options)]
      expect(second).toBeGreaterThan(first)
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('has no kubeconfig to give, and takes any names for further leases', () => {
    const manager = createManager({ ...quiet, lease: { name: 'janitor' }, lock })
    expect(() => manager.kubeConfig).toThrow('The leases are kept by `lock`, not in a cluster')
    expect(() => manager.candidacy({ name: 'Any name!' })).not.toThrow()
  })

  it.each<[string, CreateManagerOptions]>([
    ['kubeConfig', { kubeConfig: kubeConfig() }],
    ['--kubeconfig', { argv: ['--kubeconfig=/x'] }],
    ['events: true', { events: true }],
    ['lease.labels', { lease: { name: 'janitor', labels: { team: 'ops' } } }],
  ])('refuses `%s` beside it', (name, options) => {
    const create = () => createManager({ ...quiet, lease: { name: 'janitor' }, ...options, lock })
    expect(create).toThrow(OptionsError)
    expect(create).toThrow(`Expected either \`lock\` or \`${name}\``)
  })

  it('refuses a lock that is not made by a function', () => {
    const made = { lock: lock() } as unknown as CreateManagerOptions
    expect(() => createManager({ ...quiet, lease: { name: 'janitor' }, ...made })).toThrow(
      "Expected `lock` to be a function that makes the lock of a lease, got `MemoryLock { description: 'memory lease janitor' }` (object)",
    )
  })
})
