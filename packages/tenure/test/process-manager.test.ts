import { KubeConfig } from '@kubernetes/client-node'
import {
  createManager,
  type CreateManagerOptions,
  KubeConfigError,
  MemoryLeaseStore,
  type ProcessManager,
} from 'tenure'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { joinDev } from '../src/join-dev.ts'

vi.mock('../src/join-dev.ts', { spy: true })

const quiet = { env: {}, argv: [], ops: false, signals: false, logLevel: 'silent', lease: { name: 'janitor' } } as const

function kubeConfigOf(server: string, namespace?: string): KubeConfig {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'api', server, skipTLSVerify: false }, { name: 'user' })
  kubeConfig.contexts = kubeConfig.contexts.map((context) => ({ ...context, ...(namespace && { namespace }) }))
  return kubeConfig
}

type Line = Readonly<Record<string, unknown>> & { readonly message: string }

/** A logger, and the lines that it got, with the fields of its children. */
function recorder(lines: Line[] = [], bindings: object = {}) {
  const take = (fields: object, message: string) => void lines.push({ ...bindings, ...fields, message })
  const logger = { debug: take, info: take, warn: take, error: take, child: (more: object) => child(more) }
  const child = (more: object): typeof logger => recorder(lines, { ...bindings, ...more }).logger
  return { lines, logger }
}

/** Starts a manager, which stops with the test. Resolves with its first event. */
async function started(manager: ProcessManager): Promise<void> {
  const event = Promise.withResolvers<void>()
  manager.on(() => event.resolve())
  const running = manager.start()
  onTestFinished(async () => {
    await manager.stop()
    await running
  })
  await Promise.race([event.promise, running])
}

describe('The manager of a process', () => {
  beforeEach(() => void vi.mocked(joinDev).mockReset())

  test('tells a `tenure dev` its identity, and its port if it has one', async () => {
    const failure = new KubeConfigError('none runs')
    vi.mocked(joinDev).mockRejectedValue(failure)
    const env = { TENURE_DEV: '1' }
    for (const ops of [{ host: '127.0.0.1', port: 0 }, false] as const) {
      const manager = createManager({ ...quiet, env, ops, identity: 'a' })
      await expect(manager.start()).rejects.toBe(failure)
    }
    const [withPort, withoutPort] = vi.mocked(joinDev).mock.calls.map(([, greeting]) => greeting)
    expect(withPort).toEqual({ identity: 'a', pid: process.pid, opsPort: expect.any(Number) })
    expect(withoutPort).toEqual({ identity: 'a', pid: process.pid })
  })

  test('gives the operations port its options and a logger that names this replica', async () => {
    const { lines, logger } = recorder()
    const store = new MemoryLeaseStore()
    const ops = { host: '127.0.0.1', port: 0 }
    await started(createManager({ ...quiet, ops, identity: 'a', logger, lock: ({ name }) => store.lock(name) }))
    const line = lines.find(({ event }) => event === 'ops-listening')
    expect(line).toMatchObject({ identity: 'a', host: '127.0.0.1', port: expect.any(Number) })
  })

  test('knows the namespace of its own lease, unless the leases are in no cluster', () => {
    const kubeConfig = kubeConfigOf('http://127.0.0.1:1', 'of-context')
    expect(createManager({ ...quiet, kubeConfig }).namespace).toBe('of-context')
    const lease = { name: 'janitor', namespace: 'ops' }
    expect(createManager({ ...quiet, kubeConfig, lease }).namespace).toBe('ops')
    const own = createManager({ ...quiet, lease, lock: ({ name }) => new MemoryLeaseStore().lock(name) })
    expect(() => own.namespace).toThrow(KubeConfigError)
    expect(() => own.namespace).toThrow('The leases are kept by `lock`, not in a cluster')
    expect(() => createManager(quiet).namespace).toThrow('The kubeconfig is read when the manager starts')
  })

  test('ends the process with the code for a lost lease if the gate for a graceful transition is off', async () => {
    const exited = Promise.withResolvers<unknown>()
    using exit = vi.spyOn(process, 'exit').mockImplementation(((code: number) => exited.resolve(code)) as never)
    const store = new MemoryLeaseStore()
    const manager = createManager({
      ...quiet,
      lock: ({ name }) => store.lock(name),
      featureGates: { GracefulLeaderTransition: false },
    })
    const led = Promise.withResolvers<void>()
    manager.on(({ kind }) => kind === 'term-began' && led.resolve())
    const running = manager.start().catch((error: unknown) => error)
    await led.promise
    store.delete('janitor')
    expect(await exited.promise).toBe(10)
    expect(exit).toHaveBeenCalledOnce()
    await manager.stop().catch(() => {})
    await running
  })
})

describe('A second manager of the process', () => {
  test('is not what one manager is whose locks for several leases describe themselves alike', async () => {
    const { lines, logger } = recorder()
    const store = new MemoryLeaseStore()
    const lock: CreateManagerOptions['lock'] = ({ name }) =>
      Object.defineProperty(store.lock(name), 'description', { value: 'a lock' })
    const manager = createManager({ ...quiet, logger, lock })
    manager.candidacy({ name: 'sweeper' })
    await started(manager)
    expect(lines.filter(({ event }) => event === 'second-manager')).toEqual([])
  })

  test.each([
    ['of the same server', ['http://127.0.0.1:1', 'http://127.0.0.1:1'], ['b']],
    ['of another server', ['http://127.0.0.1:1', 'http://127.0.0.1:2'], []],
  ])('that stands for a lease of that name %s is in the log: %j', async (_whose, servers, warned) => {
    const { lines, logger } = recorder()
    for (const [index, server] of servers.entries()) {
      const options: CreateManagerOptions = { ...quiet, logger, events: false, identity: 'ab'[index] ?? '' }
      await started(createManager({ ...options, kubeConfig: kubeConfigOf(server) }))
    }
    const seconds = lines.filter(({ event }) => event === 'second-manager')
    expect(seconds.map(({ identity }) => identity)).toEqual(warned)
    for (const line of seconds)
      expect(line).toEqual({
        event: 'second-manager',
        identity: 'b',
        lease: 'janitor',
        message:
          'two managers of this process stand for the lease janitor, and only one of them leads at a time. Register all controllers of a lease with one manager',
      })
  })
})
