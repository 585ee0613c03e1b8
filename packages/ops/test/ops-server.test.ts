import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect, Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { HealthProbe, HealthRegistry, OptionsError } from '@tenure/core'
import { resolveFeatureGates, silentLogger, systemClock } from '@tenure/core/internal'
import { createOps, type OpsOptions } from '@tenure/ops'
import { describe, expect, test, vi } from 'vitest'
import { resolveOpsOptions } from '../src/ops-options.ts'
import { BoundedWaits, TIMED_OUT } from '../src/server/bounded-waits.ts'
import { OpsServer } from '../src/server/ops-server.ts'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
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

test('a stop ends when the server has stopped', async () => {
  const stopping = Promise.withResolvers<void>()
  using stop = vi.spyOn(OpsServer.prototype, 'stop').mockReturnValueOnce(stopping.promise)
  const ops = opsOver(new HealthProbe())
  let hasStopped = false
  const ending = ops.stop().then(() => (hasStopped = true))
  await new Promise(setImmediate)
  expect([stop.mock.calls.length, hasStopped]).toEqual([1, false])
  stopping.resolve()
  await ending
})

test('a port is opened once', async () => {
  const ops = opsOver(new HealthProbe())
  await ops.start()
  await expect(ops.start()).rejects.toThrow('Expected the operations port to be started once')
  await ops.stop()
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
    await vi.waitFor(() => expect(listeners()).toHaveLength(1), 20_000)
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

const TAKEN =
  'Expected `ops.port` to be a free port, but something listens on 127.0.0.1 port 7 already; choose another one, or 0 for any ' +
  'that is free'
const NO_ADDRESS = 'Expected `ops.host` to be an address of this machine, got `127.0.0.1`'

test.each([
  ['EADDRINUSE', TAKEN],
  ['EACCES', 'Expected `ops.port` to be a port that this process may listen on, got `7`'],
  ['EADDRNOTAVAIL', NO_ADDRESS],
  ['EAFNOSUPPORT', NO_ADDRESS],
  ['ENOTFOUND', NO_ADDRESS],
  ['EAI_AGAIN', NO_ADDRESS],
])('a port that cannot be opened with %s is an error of the option that causes it', async (code, message) => {
  const cause = Object.assign(new Error('listen'), { code })
  using listen = vi.spyOn(Server.prototype, 'listen').mockImplementation(function refuse(this: Server) {
    process.nextTick(() => this.emit('error', cause))
    return this
  })
  const error: unknown = await opsOver(new HealthProbe(), { port: 7 })
    .start()
    .catch((thrown: unknown) => thrown)
  expect(listen).toHaveBeenCalled()
  expect(error).toBeInstanceOf(OptionsError)
  expect(error).toMatchObject({ message, cause })
})

test('another error of the system is passed on as it is', async () => {
  const cause = Object.assign(new Error('too many open files'), { code: 'EMFILE' })
  using listen = vi.spyOn(Server.prototype, 'listen').mockImplementation(function refuse(this: Server) {
    process.nextTick(() => this.emit('error', cause))
    return this
  })
  await expect(opsOver(new HealthProbe()).start()).rejects.toBe(cause)
  expect(listen).toHaveBeenCalled()
})

test('an open port, and a request that fails inside, are logged; a request that is malformed is answered as such', async () => {
  const lines: unknown[] = []
  const take = (...line: unknown[]) => void lines.push(line)
  const logger = { ...silentLogger, info: take, error: take }
  const broken = new Error('no page')
  const options = { host: '127.0.0.1', port: 0, checkTimeoutMs: 100, clock: systemClock, logger }
  const server = new OpsServer({ ...options, metricsPage: () => Promise.reject(broken) })
  await server.start({ livez: new HealthProbe(), readyz: new HealthProbe(), candidacies: [] })
  const { address } = server
  expect(lines).toEqual([[{ event: 'ops-listening', ...address }, 'operations port is open']])
  expect(await get(server, '/metrics?token=secret')).toMatchObject({
    status: 500,
    body: 'internal server error\n',
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })
  expect(lines.slice(1)).toEqual([[{ event: 'ops-error', path: '/metrics', err: broken }, 'request failed']])
  const socket = connect(address?.port ?? 0, '127.0.0.1')
  const head = 'POST /livez HTTP/1.1\r\nHost: ops\r\nConnection: close\r\n'
  socket.end(`${head}Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{`)
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 .*\r\n\r\nbad request\n$/s)
  expect(lines).toHaveLength(2)
  await server.stop()
  await server.stop()
})

test.each<[string, Error, number]>([
  ['an error with the status 400', Object.assign(new Error('odd'), { statusCode: 400 }), 400],
  ['an error with a lower status', Object.assign(new Error('odd'), { statusCode: 399 }), 500],
  ['an error with a status that is a text', Object.assign(new Error('odd'), { statusCode: '404' }), 500],
  ['an error without a status', new Error('odd'), 500],
  ['an error whose status cannot be read', errorWithHiddenStatus(), 500],
])('a request that fails with %s is answered by its status, or as failed inside', async (_what, error, status) => {
  const lines: unknown[] = []
  const logger = { ...silentLogger, error: (...line: unknown[]) => void lines.push(line) }
  const options = { host: '127.0.0.1', port: 0, checkTimeoutMs: 100, clock: systemClock, logger }
  const server = new OpsServer({ ...options, metricsPage: () => Promise.reject(error) })
  await server.start({ livez: new HealthProbe(), readyz: new HealthProbe(), candidacies: [] })
  const body = status === 500 ? 'internal server error\n' : 'bad request\n'
  expect(await get(server, '/metrics')).toMatchObject({ status, body })
  expect(lines).toHaveLength(status === 500 ? 1 : 0)
  await server.stop()
})

/** The server may read it once. */
function errorWithHiddenStatus(): Error {
  return Object.defineProperty(new Error('odd'), 'statusCode', {
    get: () => {
      throw new Error('hidden')
    },
  })
}

describe('a bounded wait', () => {
  test('leaves no timer once it has its answer, or an error', async () => {
    const { clock, pending } = countingClock()
    const waits = new BoundedWaits(clock, 5000)
    expect(await waits.inTime(Promise.resolve('answer'))).toBe('answer')
    await expect(waits.inTime(Promise.reject(new Error('refused')))).rejects.toThrow('refused')
    expect(pending()).toBe(0)
  })

  test('ends with the timeout, and at once when all waits are closed, also a wait that begins later', async () => {
    const clock = new VirtualClock()
    const waits = new BoundedWaits(clock, 5000)
    const never = new Promise<never>(() => {})
    const timed = waits.inTime(never)
    await clock.advance(5000)
    expect(await timed).toBe(TIMED_OUT)
    const closed = waits.inTime(never)
    waits.close()
    expect([await closed, await waits.inTime(never)]).toEqual([TIMED_OUT, TIMED_OUT])
  })
})

test('options that are not given, or undefined, have their documented defaults', () => {
  const defaults = {
    port: 8080,
    host: '0.0.0.0',
    registries: [],
    checkTimeoutMs: 5000,
    processMetrics: true,
    clock: systemClock,
    logger: silentLogger,
  }
  expect(resolveOpsOptions({})).toEqual(defaults)
  expect(resolveOpsOptions({ port: undefined, host: undefined, logger: undefined } as object)).toEqual(defaults)
})

test('the operations port is a server among the extensions', () => {
  expect(createOps()).toMatchObject({ name: 'ops', group: 'servers' })
})

test.each([0, 65_535, false] as const)('the port %s is accepted', (port) => {
  expect(resolveOpsOptions({ port }).port).toBe(port)
})

const PORT = 'Expected `ops.port` to be a whole number from 0 to 65535, or false, got '
const HOST = 'Expected `ops.host` to be an address such as `0.0.0.0`, got '
const TIMEOUT = 'Expected `ops.checkTimeoutMs` to be a number of milliseconds above 0, got '

test.each([
  [{ port: -1 }, `${PORT}\`-1\``],
  [{ port: 65_536 }, `${PORT}\`65536\``],
  [{ port: 0.5 }, `${PORT}\`0.5\``],
  [{ port: true as unknown as number }, `${PORT}\`true\``],
  [{ port: '80' as unknown as number }, `${PORT}\`80\``],
  [{ port: 0, host: '' }, `${HOST}\`\``],
  [{ port: 0, host: 5 as unknown as string }, `${HOST}\`5\``],
  [{ port: 0, checkTimeoutMs: 0 }, `${TIMEOUT}\`0\``],
  [{ port: 0, checkTimeoutMs: Infinity }, `${TIMEOUT}\`Infinity\``],
  [{ port: 0, checkTimeoutMs: '9' as unknown as number }, `${TIMEOUT}\`9\``],
  [{ port: 0, processMetrics: 1 as unknown as boolean }, 'Expected `ops.processMetrics` to be true or false, got `1`'],
  [{ port: 0, prot: 1 } as OpsOptions, 'Unknown option `prot` in `ops`; did you mean `port`?'],
])('the options %o are refused with a message that says what was expected', (options, message) => {
  expect(() => createOps(options)).toThrow(OptionsError)
  expect(() => createOps(options)).toThrow(message)
})
