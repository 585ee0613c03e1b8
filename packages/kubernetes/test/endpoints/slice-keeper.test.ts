import { beforeEach, describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { ApiRequestError } from '../../src/client/api-request-error.ts'
import type { Connection } from '../../src/client/connection.ts'
import type { WantedEndpoint } from '../../src/endpoints/endpoint-note.ts'
import { endpointBody, type SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import { type GroupView, SliceKeeper, type SliceKeeperOptions } from '../../src/endpoints/slice-keeper.ts'
import { MANAGED_BY } from '../../src/endpoints/slice-object.ts'
import { isConflict } from '../../src/endpoints/slice-store.ts'
import { type Line, recordingLogger } from '../support/recording-logger.ts'
import { after } from '../support/replicas.ts'
import { VirtualApi, type Wire } from '../support/virtual-api.ts'

const ADDRESS = '10.0.0.1'
const READ_FAILED =
  'Could not get services ops/shop: the credentials lack a permission (403); the Role in namespace ops must grant the verb "get" on the resource "services" of API group ""'

let clock: VirtualClock
let api: VirtualApi

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
  api.put('services', { metadata: { name: 'shop' }, spec: {} })
})

const entry = (address: string, more: Partial<SliceEndpoint> = {}): SliceEndpoint => ({
  address,
  ready: true,
  serving: true,
  terminating: false,
  nodeName: undefined,
  zone: undefined,
  ...more,
})

const member = (address: string, renewedAt = 1e9): WantedEndpoint => ({ endpoint: entry(address), renewedAt })

/** A slice as somebody has written it. */
function putSlice(entries: readonly SliceEndpoint[], managedBy = MANAGED_BY): void {
  const labels = { 'endpointslice.kubernetes.io/managed-by': managedBy, 'kubernetes.io/service-name': 'shop' }
  const stored = api.get('endpointslices', 'shop')
  const metadata = { ownerReferences: stored?.metadata['ownerReferences' as never], name: 'shop', labels }
  const ports = [{ name: 'http', port: 8080, protocol: 'TCP' }]
  api.put('endpointslices', { metadata, addressType: 'IPv4', endpoints: entries.map(endpointBody), ports })
}

const addresses = () => {
  const slice = api.get('endpointslices', 'shop') as unknown as { endpoints: { addresses: string[] }[] } | undefined
  return slice?.endpoints.flatMap((one) => one.addresses)
}

const sliceWrites = () => api.writes.filter(({ what }) => what.includes('endpointslices')).length

/** A keeper on the virtual API server, with a group that the test says. */
function keeping(options: Partial<SliceKeeperOptions> = {}) {
  const wire: Wire = { isCut: false, isPaused: false }
  const lines: Line[] = []
  const group: { -readonly [K in keyof GroupView]: GroupView[K] } = { wanted: [], gone: new Set(), isCurrent: true }
  const run = { refreshes: 0, refresh: async () => {} }
  const keeper = new SliceKeeper({
    source: {
      name: 'shop',
      namespace: 'ops',
      service: 'shop',
      addressType: 'IPv4',
      ports: [
        {
          name: 'http',
          port: 8080,
        },
      ],
    },
    mode: 'lease',
    address: ADDRESS,
    count: 1000,
    connection: api.connect('me', wire),
    clock,
    random: () => 0,
    logger: recordingLogger(lines),
    group: () => group,
    refresh: () => {
      run.refreshes += 1
      return run.refresh()
    },
    ...options,
  })
  return {
    wire,
    lines,
    group,
    run,
    keeper,
    start: () => after(clock, keeper.start(), 100),
    messages: () => lines.map(({ level, message }) => `${level}: ${message}`),
    counts: () => keeper.writes.values('outcome', ['ok', 'conflict', 'failed'], {}).map(({ value }) => value),
    close: () => after(clock, keeper.close(), 100),
  }
}

async function started(options: Partial<SliceKeeperOptions> = {}) {
  const one = keeping(options)
  await one.start()
  return one
}

/** Whether a promise is settled after some time. */
async function isSettledAfter(ms: number, promise: Promise<unknown>): Promise<boolean> {
  let is = false
  void promise.then(() => (is = true))
  await clock.advance(ms)
  return is
}

describe('what a replica wants', () => {
  test('is written at once, logged and counted', async () => {
    const { keeper, lines, counts, close } = await started()
    expect([keeper.own, keeper.entries, keeper.refusal, keeper.problem]).toEqual([undefined, [], undefined, undefined])
    keeper.want(entry(ADDRESS))
    expect(await isSettledAfter(20, keeper.settled(new AbortController().signal))).toBe(true)
    expect(addresses()).toEqual([ADDRESS])
    expect([keeper.own, keeper.entries]).toEqual([entry(ADDRESS), [entry(ADDRESS)]])
    keeper.want(entry(ADDRESS, { ready: false }))
    await clock.advance(20)
    keeper.want(undefined)
    await clock.advance(20)
    const line = (...endpoints: readonly string[]) => ({
      level: 'info',
      message: 'EndpointSlice written',
      fields: { event: 'endpoints-written', service: 'shop', endpoints },
    })
    expect(lines).toEqual([line(ADDRESS), line(`${ADDRESS} (not ready)`), line()])
    expect(counts()).toEqual([3, 0, 0])
    await clock.advance(10_000)
    expect(sliceWrites()).toBe(3)
    await close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('needs a read of the group to enter or to replace others, and none to change or to leave', async () => {
    const { keeper, run, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    expect(run.refreshes).toBe(1)
    keeper.want(entry(ADDRESS, { ready: false }))
    await clock.advance(20)
    keeper.want(undefined)
    await clock.advance(20)
    expect(run.refreshes).toBe(1)
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    expect(run.refreshes).toBe(1)
    keeper.want(undefined)
    await clock.advance(1000)
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    expect(run.refreshes).toBe(2)
    await close()
  })

  test('needs no read of the group to leave, though another member takes the last place', async () => {
    const { keeper, group, run, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.wanted = [member('10.0.0.2')]
    keeper.want(undefined)
    await clock.advance(20)
    expect([addresses(), run.refreshes]).toEqual([['10.0.0.2'], 1])
    await close()
  })

  test('needs a read of the group to drop another one for a place, though the last read is fresh', async () => {
    const { keeper, group, run, close } = await started({ mode: 'master-count', count: 1 })
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    run.refresh = async () => void (group.gone = new Set())
    group.isCurrent = false
    group.gone = new Set(['10.0.0.2'])
    putSlice([entry(ADDRESS), entry('10.0.0.2')])
    await clock.advance(100)
    expect([addresses(), run.refreshes]).toEqual([[ADDRESS, '10.0.0.2'], 2])
    await close()
  })

  test('needs no new read of the group if the last one is at most a second old', async () => {
    const { keeper, run, close } = await started()
    let readAt = 0
    run.refresh = async () => void (readAt = clock.now())
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    for (const [age, refreshes] of [
      [1000, 1],
      [1001, 2],
    ] as const) {
      keeper.want(undefined)
      await clock.advance(20)
      await clock.advance(readAt + age - clock.now())
      keeper.want(entry(ADDRESS))
      await clock.advance(20)
      expect(run.refreshes).toBe(refreshes)
    }
    await close()
  })

  test('is settled when its signal aborts, or the keeper closes', async () => {
    const { keeper, wire, close } = await started()
    wire.isCut = true
    keeper.want(entry(ADDRESS))
    const stopping = new AbortController()
    const first = keeper.settled(stopping.signal)
    expect(await isSettledAfter(100, first)).toBe(false)
    stopping.abort()
    expect(await isSettledAfter(0, first)).toBe(true)
    const second = keeper.settled(new AbortController().signal)
    expect(await isSettledAfter(100, second)).toBe(false)
    await close()
    expect(await isSettledAfter(0, second)).toBe(true)
  })
})

describe('a slice that somebody edits', () => {
  test('has its label and its order again after a second, and is written once', async () => {
    const { keeper, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    const before = api.get('endpointslices', 'shop')
    const { 'kubernetes.io/service-name': _, ...labels } = before?.metadata.labels ?? {}
    api.put('endpointslices', { ...before, metadata: { ...before?.metadata, name: 'shop', labels } })
    const writes = sliceWrites()
    await clock.advance(990)
    expect(sliceWrites()).toBe(writes)
    await clock.advance(20)
    expect(sliceWrites()).toBe(writes + 1)
    expect(api.get('endpointslices', 'shop')?.metadata.labels).toEqual(before?.metadata.labels)
    await clock.advance(10_000)
    expect(sliceWrites()).toBe(writes + 1)
    await close()
  })

  test('has the ports of this replica again if nobody else is there, unless it is out itself', async () => {
    const { keeper, close } = await started()
    const ports = () => (api.get('endpointslices', 'shop') as unknown as { ports: object[] }).ports
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    const edit = () =>
      api.put('endpointslices', {
        ...api.get('endpointslices', 'shop'),
        ports: [],
        metadata: { ...api.get('endpointslices', 'shop')?.metadata, name: 'shop' },
      })
    edit()
    await clock.advance(1100)
    expect(ports()).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }])
    keeper.want(undefined)
    await clock.advance(20)
    edit()
    const writes = sliceWrites()
    await clock.advance(10_000)
    expect(ports()).toEqual([])
    expect(sliceWrites()).toBe(writes)
    await close()
  })

  test('belongs to the Service that is there when it is created again', async () => {
    const { keeper, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    api.remove('services', 'shop')
    const { uid } = api.put('services', { metadata: { name: 'shop' }, spec: {} }).metadata
    api.remove('endpointslices', 'shop')
    await clock.advance(20)
    expect(api.get('endpointslices', 'shop')?.metadata).toMatchObject({ ownerReferences: [{ name: 'shop', uid }] })
    await close()
  })
})

describe('a difference of others', () => {
  test('is left to the replicas before this one for a while', async () => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.wanted = [member('10.0.0.0'), member('10.0.0.2')]
    group.gone = new Set(['10.0.0.9'])
    putSlice([entry('10.0.0.0'), entry(ADDRESS), entry('10.0.0.2'), entry('10.0.0.9')])
    await clock.advance(295)
    expect(addresses()).toHaveLength(4)
    await clock.advance(15)
    expect(addresses()).toEqual(['10.0.0.0', ADDRESS, '10.0.0.2'])
    await close()
  })

  test.each([
    ['all others come after this one', ['10.0.0.2', '10.0.0.3'], 250],
    ['another one has the same address', [ADDRESS, '10.0.0.2'], 250],
    ['all others come before this one', ['10.0.0.0', '1.0.0.0'], 350],
  ])('is settled in turn: %s', async (_, others, ms) => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.wanted = others.map((address) => member(address))
    group.gone = new Set(['10.0.0.9'])
    putSlice([...new Set([...others, ADDRESS, '10.0.0.9'])].sort().map((address) => entry(address)))
    await clock.advance(ms - 5)
    expect(addresses()).toContain('10.0.0.9')
    await clock.advance(15)
    expect(addresses()).not.toContain('10.0.0.9')
    await close()
  })

  test('that takes the place of another one waits as long', async () => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.gone = new Set(['10.0.0.8', '10.0.0.9'])
    putSlice([entry(ADDRESS), entry('10.0.0.9')])
    await clock.advance(200)
    putSlice([entry(ADDRESS), entry('10.0.0.8')])
    await clock.advance(200)
    expect(addresses()).toEqual([ADDRESS, '10.0.0.8'])
    await clock.advance(70)
    expect(addresses()).toEqual([ADDRESS])
    await close()
  })

  test('is settled by a replica that is out itself without its ports', async () => {
    const { group, close } = await started()
    group.wanted = [member('10.0.0.2')]
    group.gone = new Set(['10.0.0.9'])
    putSlice([entry('10.0.0.2'), entry('10.0.0.9')])
    const ports = [{ name: 'web', port: 9090, protocol: 'TCP' }]
    const stored = api.get('endpointslices', 'shop')
    api.put('endpointslices', { ...stored, metadata: { ...stored?.metadata, name: 'shop' }, ports })
    await clock.advance(400)
    expect(api.get('endpointslices', 'shop')).toMatchObject({ endpoints: [endpointBody(entry('10.0.0.2'))], ports })
    await close()
  })

  test('is left to all of them by a replica that is out itself', async () => {
    const { group, run, close } = await started()
    group.wanted = [member('10.0.0.2'), member('10.0.0.3')]
    group.gone = new Set(['10.0.0.9'])
    putSlice([entry('10.0.0.2'), entry('10.0.0.3'), entry('10.0.0.9')])
    await clock.advance(345)
    expect(addresses()).toHaveLength(3)
    await clock.advance(15)
    expect([addresses(), run.refreshes]).toEqual([['10.0.0.2', '10.0.0.3'], 1])
    await close()
  })

  test('is looked at every second while the view of the group is not current', async () => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.isCurrent = false
    putSlice([entry(ADDRESS), entry('10.0.0.9')])
    await clock.advance(5000)
    expect(addresses()).toHaveLength(2)
    group.isCurrent = true
    await clock.advance(2100)
    expect(addresses()).toEqual([ADDRESS])
    await close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('is all that a replica looks for again: without one, and without a doubt, it waits for a change', async () => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(5000)
    const quiet = clock.pendingTimers
    group.isCurrent = false
    keeper.groupChanged()
    await clock.advance(5000)
    expect(clock.pendingTimers).toBe(quiet + 1)
    group.isCurrent = true
    await clock.advance(5000)
    expect(clock.pendingTimers).toBe(quiet)
    group.wanted = [member('10.0.0.2', 0)]
    keeper.groupChanged()
    await clock.advance(5000)
    expect(clock.pendingTimers).toBe(quiet + 1)
    await close()
    expect(clock.pendingTimers).toBe(0)
  })

  test('is settled within two seconds of the renewal of a member that was in doubt', async () => {
    const { keeper, group, close } = await started()
    keeper.want(entry(ADDRESS))
    group.wanted = [member('10.0.0.2', 0)]
    await clock.advance(5000)
    expect(addresses()).toEqual([ADDRESS])
    group.wanted = [member('10.0.0.2')]
    await clock.advance(2100)
    expect(addresses()).toEqual([ADDRESS, '10.0.0.2'])
    await close()
  })

  test('is a member without an entry only once that has renewed after a read of the group', async () => {
    const { keeper, group, run, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    group.wanted = [member('10.0.0.2', 0)]
    keeper.groupChanged()
    await clock.advance(5000)
    expect(run.refreshes).toBe(1)
    group.wanted = [member('10.0.0.2', clock.now())]
    await clock.advance(5000)
    expect([run.refreshes, addresses()]).toEqual([2, [ADDRESS]])
    group.wanted = [member('10.0.0.2', clock.now())]
    await clock.advance(5000)
    expect([run.refreshes, addresses()]).toEqual([3, [ADDRESS, '10.0.0.2']])
    await close()
  })

  test('is not written if somebody else settles it while the group is read', async () => {
    const { keeper, run, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    const before = sliceWrites()
    run.refresh = async () => {
      putSlice([entry(ADDRESS)])
      const { promise, resolve } = Promise.withResolvers<void>()
      clock.setTimer(20, resolve)
      await promise
    }
    putSlice([entry(ADDRESS), entry('10.0.0.9')])
    await clock.advance(5000)
    expect(run.refreshes).toBe(2)
    expect([addresses(), sliceWrites()]).toEqual([[ADDRESS], before])
    await close()
  })

  test('is dropped if the read of the group does not confirm it', async () => {
    const { keeper, group, run, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    run.refresh = async () => void (group.wanted = [member('10.0.0.9')])
    putSlice([entry(ADDRESS), entry('10.0.0.9')])
    const before = sliceWrites()
    await clock.advance(5000)
    expect(run.refreshes).toBe(2)
    expect(addresses()).toEqual([ADDRESS, '10.0.0.9'])
    // Only its owner was missing.
    expect(sliceWrites() - before).toBeLessThanOrEqual(1)
    await close()
  })
})

describe('a request that fails', () => {
  test('because of a conflict is repeated at once, with what the slice is now', async () => {
    const { keeper, wire, group, counts, messages, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    wire.silent = 'endpointslices'
    group.wanted = [member('10.0.0.2')]
    putSlice([entry(ADDRESS), entry('10.0.0.2')])
    keeper.want(entry(ADDRESS, { ready: false }))
    await clock.advance(30)
    expect(addresses()).toEqual([ADDRESS, '10.0.0.2'])
    expect(counts()).toEqual([2, 1, 0])
    expect(messages().filter((line) => !line.startsWith('info'))).toEqual([])
    wire.silent = undefined
    await close()
  })

  test('because the slice was deleted creates it again', async () => {
    const { keeper, wire, counts, messages, close } = await started()
    keeper.want(entry(ADDRESS))
    await clock.advance(20)
    wire.silent = 'endpointslices'
    api.remove('endpointslices', 'shop')
    keeper.want(entry(ADDRESS, { ready: false }))
    await clock.advance(30)
    expect([addresses(), counts()]).toEqual([[ADDRESS], [2, 1, 0]])
    expect(messages().filter((line) => !line.startsWith('info'))).toEqual([])
    wire.silent = undefined
    await close()
  })

  test.each([
    [new ApiRequestError('conflict', 'x'), true, true],
    [new ApiRequestError('not-found', 'x'), false, true],
    [new ApiRequestError('not-found', 'x'), true, false],
    [new ApiRequestError('forbidden', 'x'), false, false],
    [new Error('conflict'), false, false],
  ])('is a conflict or not: %s, in a creation: %s', (error, isCreation, expected) => {
    expect(isConflict(error, isCreation)).toBe(expected)
  })

  test('for a missing right is logged once, and repeated every 5 s', async () => {
    const { keeper, lines, counts, close } = await started()
    api.forbids = ({ verb }) => verb === 'create'
    keeper.want(entry(ADDRESS))
    await clock.advance(4900)
    expect(counts()).toEqual([0, 0, 1])
    expect(keeper.problem).toMatchObject({ statusCode: 403 })
    const why =
      'Could not create endpointslices.discovery.k8s.io ops/shop: the credentials lack a permission (403); the Role in namespace ops must ' +
      'grant the verb "create" on the resource "endpointslices" of API group "discovery.k8s.io"'
    expect(lines).toEqual([
      {
        level: 'warn',
        message: `the EndpointSlice cannot be written: ${why}`,
        fields: { event: 'endpoints-failed', service: 'shop', err: keeper.problem },
      },
    ])
    await clock.advance(200)
    expect(counts()).toEqual([0, 0, 2])
    expect(lines).toHaveLength(1)
    api.forbids = () => false
    await clock.advance(5000)
    expect([addresses(), keeper.problem, counts()]).toEqual([[ADDRESS], undefined, [1, 0, 2]])
    await close()
  })

  test('is not repeated before its time, though the group changes', async () => {
    const { keeper, counts, close } = await started()
    api.forbids = ({ verb }) => verb === 'create'
    keeper.want(entry(ADDRESS))
    await clock.advance(100)
    keeper.groupChanged()
    await clock.advance(100)
    expect(counts()).toEqual([0, 0, 1])
    await close()
  })

  test('because nothing can be created there is no conflict: it is repeated after a pause', async () => {
    const connection = api.connect('me')
    const send: Connection['send'] = async (request) => {
      if (request.target.verb !== 'create') return connection.send(request)
      throw new ApiRequestError('not-found', 'the namespace is not there')
    }
    const { keeper, counts, close } = await started({ connection: { ...connection, send } })
    keeper.want(entry(ADDRESS))
    await clock.advance(1000)
    expect(counts()).toEqual([0, 0, 1])
    await close()
  })

  test('is logged together with the read after it, if that fails too', async () => {
    const { keeper, messages, close } = await started()
    api.forbids = ({ verb }) => verb === 'create' || verb === 'list'
    keeper.want(entry(ADDRESS))
    await clock.advance(100)
    expect(messages()).toEqual([
      expect.stringMatching(/^warn: the EndpointSlice cannot be written: Could not create endpointslices/),
      expect.stringMatching(/^warn: the EndpointSlice cannot be read: Could not list endpointslices/),
    ])
    await close()
  })

  test('is repeated at once when this replica wants something else', async () => {
    const { keeper, counts, close } = await started()
    api.forbids = ({ verb }) => verb === 'create'
    keeper.want(entry(ADDRESS))
    await clock.advance(100)
    keeper.want(entry(ADDRESS, { zone: 'z' }))
    await clock.advance(100)
    expect(counts()).toEqual([0, 0, 2])
    await close()
  })

  test('to read the group keeps the slice as it is, is logged, and repeated ever more rarely', async () => {
    const { keeper, run, lines, close } = await started()
    const at: number[] = []
    run.refresh = async () => {
      at.push(clock.now())
      throw new Error('no route')
    }
    keeper.want(entry(ADDRESS))
    await clock.advance(1000)
    expect(at.map((time, index) => time - (at[index - 1] ?? time))).toEqual([0, 50, 100, 200, 400])
    expect(lines).toEqual([
      {
        level: 'warn',
        message: 'the group cannot be read: no route',
        fields: { event: 'endpoints-failed', service: 'shop', err: new Error('no route') },
      },
    ])
    expect(addresses()).toBeUndefined()
    run.refresh = async () => {}
    await clock.advance(2000)
    expect([addresses(), keeper.problem]).toEqual([[ADDRESS], undefined])
    await close()
  })

  test('is not repeated earlier than the server asks for', async () => {
    const { keeper, run, close } = await started()
    const at: number[] = []
    run.refresh = async () => {
      at.push(clock.now())
      throw new ApiRequestError('throttled', 'later', { retryAfterMs: 3000 })
    }
    keeper.want(entry(ADDRESS))
    await clock.advance(7000)
    expect(at.map((time) => time - (at[0] ?? 0))).toEqual([0, 3000, 6000])
    await close()
  })

  test('to watch the slice is logged, and over with the next watch', async () => {
    const { keeper, messages, close } = await started()
    api.breakStreams()
    await clock.advance(0)
    expect(messages()).toEqual([
      'warn: the EndpointSlice cannot be watched: Could not watch  in all namespaces: the server did not answer',
    ])
    expect(keeper.problem).toBeDefined()
    await clock.advance(100)
    expect(keeper.problem).toBeUndefined()
    await close()
  })

  test('after the close is not logged', async () => {
    const { keeper, lines, wire, close } = await started()
    wire.isCut = true
    keeper.want(entry(ADDRESS))
    await clock.advance(100)
    await close()
    await clock.advance(10_000)
    expect(lines).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })
})

describe('the start', () => {
  test('rejects if the Service may not be read, and says so in the log', async () => {
    const { lines, start, close, keeper } = keeping()
    api.forbids = ({ resource }) => resource === 'services'
    await expect(start()).rejects.toThrow(READ_FAILED)
    expect(lines).toEqual([
      {
        level: 'warn',
        message: `the Service cannot be read: ${READ_FAILED}`,
        fields: { event: 'endpoints-failed', service: 'shop', err: keeper.problem },
      },
    ])
    await close()
  })

  test('resolves without a server, and the Service is read as soon as there is one', async () => {
    const { lines, keeper, close, wire } = keeping()
    wire.isCut = true
    const starting = keeper.start()
    expect(await isSettledAfter(2999, starting)).toBe(false)
    expect(await isSettledAfter(1, starting)).toBe(true)
    expect(lines.map(({ message }) => message)).toEqual([
      'the Service cannot be read: Could not get services ops/shop: the server did not answer',
    ])
    wire.isCut = false
    keeper.want(entry(ADDRESS))
    await clock.advance(10_000)
    expect([addresses(), keeper.problem]).toEqual([[ADDRESS], undefined])
    await close()
  })

  test('resolves if the server is away before the slice was seen', async () => {
    const { keeper, close, wire } = keeping()
    api.forbids = ({ verb }) => {
      if (verb === 'list') wire.isCut = true
      return false
    }
    const starting = keeper.start()
    expect(await isSettledAfter(1000, starting)).toBe(false)
    expect(await isSettledAfter(5000, starting)).toBe(true)
    await expect(starting).resolves.toBeUndefined()
    await close()
  })

  test('resolves when an earlier entry of this replica is out', async () => {
    const { start, close, keeper } = keeping()
    putSlice([entry(ADDRESS), entry('10.0.0.2')])
    await start()
    expect(keeper.entries).toEqual([entry('10.0.0.2')])
    await close()
  })

  test('has settled nothing before the slice was seen', async () => {
    const { close, keeper } = keeping()
    putSlice([entry(ADDRESS), entry('10.0.0.2')])
    void keeper.start()
    const seen: unknown[] = []
    void keeper.settled(new AbortController().signal).then(() => seen.push(addresses()))
    await clock.advance(100)
    expect(seen).toEqual([['10.0.0.2']])
    await close()
  })

  test('rejects for a slice of somebody else, which is an error in the log and a refusal, until it is gone', async () => {
    const { lines, start, close, keeper, run } = keeping()
    putSlice([entry('10.0.0.2')], 'somebody')
    const why =
      'Could not keep the EndpointSlice ops/shop: its label endpointslice.kubernetes.io/managed-by is "somebody", not ' +
      '"endpoints.tenure.dev". It is somebody else\'s. Choose another name with `slice`, or delete it'
    await expect(start()).rejects.toThrow(why)
    const fields = { event: 'endpoints-refused', service: 'shop' }
    expect(lines).toEqual([{ level: 'error', message: why, fields }])
    expect(keeper.refusal).toMatchObject({ code: 'ENDPOINTS_REFUSED', message: why })
    keeper.want(entry(ADDRESS))
    expect(await isSettledAfter(100, keeper.settled(new AbortController().signal))).toBe(true)
    expect([addresses(), run.refreshes, lines.length]).toEqual([['10.0.0.2'], 0, 1])
    api.remove('endpointslices', 'shop')
    await clock.advance(100)
    expect([addresses(), keeper.refusal]).toEqual([[ADDRESS], undefined])
    await close()
  })
})
