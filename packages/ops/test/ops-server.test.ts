import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { HealthProbe, HealthRegistry, OptionsError } from '@tenure/core'
import { resolveFeatureGates } from '@tenure/core/internal'
import { createOps, type OpsOptions } from '@tenure/ops'
import { expect, test, vi } from 'vitest'
import { countingClock } from './counting-clock.ts'
import { get, manage } from './managed-ops.ts'

/** An operations port that can be started without a manager. */
function opsOver(livez: HealthProbe, options: Partial<OpsOptions> = {}) {
  const ops = createOps({ port: 0, host: '127.0.0.1', processMetrics: false, ...options })
  const featureGates = resolveFeatureGates()
  const host = { identity: 'a', livez, readyz: new HealthProbe(), candidacies: [], featureGates, stop: async () => {} }
  return {
    get address() {
      return ops.address
    },
    start: async () => ops.start(host),
    stop: async () => ops.stop(),
  }
}

const listeners = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap')

async function withTakenPort(use: (port: number) => Promise<void>): Promise<void> {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  try {
    await use((other.address() as AddressInfo).port)
  } finally {
    other.close()
    await once(other, 'close')
  }
}

test('the address is known exactly while the port is open', async () => {
  const ops = opsOver(new HealthProbe())
  expect(ops.address).toBeUndefined()
  await ops.start()
  expect(ops.address).toMatchObject({ host: '127.0.0.1', port: expect.any(Number) })
  await ops.stop()
  expect(ops.address).toBeUndefined()
})

test('a port that is taken is an error that names address, port and option, and leaves nothing', async () => {
  await withTakenPort(async (port) => {
    const ops = opsOver(new HealthProbe(), { port })
    const error = await ops.start().catch((error: unknown) => error)
    expect(error).toBeInstanceOf(OptionsError)
    expect(error).toMatchObject({ code: 'BAD_OPTIONS', cause: { code: 'EADDRINUSE' } })
    expect(String(error)).toContain(`127.0.0.1 port ${port}`)
    expect(String(error)).toContain('`ops.port`')
    expect(ops.address).toBeUndefined()
    await vi.waitFor(() => expect(listeners()).toHaveLength(1))
  })
})

test('a port that was taken can be opened once it is free', async () => {
  let ops: ReturnType<typeof opsOver> | undefined
  await withTakenPort(async (port) => {
    ops = opsOver(new HealthProbe(), { port })
    await expect(ops.start()).rejects.toBeInstanceOf(OptionsError)
  })
  await ops?.start()
  expect(ops?.address).toBeDefined()
  await ops?.stop()
})

test('a manager whose port is taken does not stand for election', async () => {
  await withTakenPort(async (port) => {
    const { manager, events } = manage({ ops: { port } })
    await expect(manager.start()).rejects.toBeInstanceOf(OptionsError)
    expect(events.filter(({ kind }) => kind === 'term-began')).toEqual([])
  })
})

test('an address of another machine is an error that names the option', async () => {
  const ops = opsOver(new HealthProbe(), { host: '192.0.2.1' })
  const error = await ops.start().catch((error: unknown) => error)
  expect(error).toBeInstanceOf(OptionsError)
  expect(String(error)).toContain('`ops.host`')
})

test('a stopped port can be opened again', async () => {
  const ops = opsOver(new HealthProbe())
  await ops.start()
  await ops.stop()
  await ops.start()
  expect(await get(ops, '/livez')).toMatchObject({ status: 200 })
  await ops.stop()
})

test('a port is opened once at a time', async () => {
  const ops = opsOver(new HealthProbe())
  await ops.start()
  await expect(ops.start()).rejects.toMatchObject({ code: 'ALREADY_STARTED' })
  expect(await get(ops, '/livez')).toMatchObject({ status: 200 })
  await ops.stop()
})

test('stopping closes connections that clients keep alive, at once', async () => {
  const ops = opsOver(new HealthProbe())
  await ops.start()
  const { host, port } = ops.address ?? { host: '', port: 0 }
  const socket = connect(port, host)
  socket.write('GET /livez HTTP/1.1\r\nHost: ops\r\nConnection: keep-alive\r\n\r\n')
  const [head] = (await once(socket, 'data')) as [Buffer]
  expect(head.toString()).toContain('200 OK')
  const closed = once(socket, 'close')
  const before = performance.now()
  await ops.stop()
  await closed
  expect(performance.now() - before).toBeLessThan(1000)
})

test('stopping does not wait for a check that hangs, and leaves no timer of it', async () => {
  const registry = new HealthRegistry()
  const asked = Promise.withResolvers<void>()
  registry.register('disk', () => {
    asked.resolve()
    return new Promise<void>(() => {})
  })
  const livez = new HealthProbe()
  livez.add(registry)
  const { clock, pending } = countingClock()
  const ops = opsOver(livez, { clock })
  await ops.start()
  const answer = get(ops, '/livez').catch((error: unknown) => error)
  await asked.promise
  expect(pending()).toBeGreaterThan(0)
  await ops.stop()
  expect(await answer).toMatchObject({ code: 'ECONNRESET' })
  await new Promise(setImmediate)
  expect(pending()).toBe(0)
})

test.each([
  [{ port: -1 }, 'Expected `ops.port` to be a whole number from 0 to 65535, or false, got `-1`'],
  [{ port: 65_536 }, 'got `65536`'],
  [{ port: '80' as unknown as number }, 'got `80`'],
  [{ port: 0, host: '' }, 'Expected `ops.host`'],
  [{ port: 0, checkTimeoutMs: 0 }, 'Expected `ops.checkTimeoutMs`'],
  [{ port: 0, processMetrics: 1 as unknown as boolean }, 'Expected `ops.processMetrics`'],
  [{ port: 0, prot: 1 } as OpsOptions, 'Unknown option `prot` in `ops`; did you mean `port`?'],
])('the options %o are refused with a message that says what was expected', (options, message) => {
  expect(() => createOps(options)).toThrow(OptionsError)
  expect(() => createOps(options)).toThrow(message)
})
