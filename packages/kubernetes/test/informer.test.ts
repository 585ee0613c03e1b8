import { EventEmitter, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { KubeConfig, type V1ConfigMap } from '@kubernetes/client-node'
import { type Controller, HealthRegistry, type Logger, Manager, MemoryLeaseStore, type Term } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import type { ApiServer } from '@tenure/api-server'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { watchForLeaks } from '../../testing/src/leaks/watch-for-leaks.ts'
import { informer } from '../src/informer/informer.ts'
import type { Informer } from '../src/informer/informer.ts'
import type { InformerOptions, InformerOwner, ObjectChange } from '../src/informer/informer-options.ts'
import { EmbeddedCluster } from './support/embedded-cluster.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { StoreBehindConnection } from './support/store-behind-connection.ts'

const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'

/** On Node 22 the first AsyncLocalStorage enables a hook for good. */
const LEAKS = { retained: false, ignore: { kinds: ['async-hook'] } } as const

let cluster: EmbeddedCluster
let server: ApiServer

beforeAll(async () => {
  cluster = await EmbeddedCluster.start()
  server = cluster.server
})

afterEach(() => server.faults.clear())

afterAll(() => cluster.stop())

const write = (name: string, data: Record<string, string> = {}) =>
  cluster.asAdmin('POST', CONFIG_MAPS, { metadata: { name, labels: { app: 'janitor' } }, data })

/** The queries of all requests that a server got. */
const queriesTo = (loopback: LoopbackServer) =>
  loopback.requests.map(({ message }) => Object.fromEntries(new URL(message.url ?? '', 'http://x').searchParams))

/** A leader whose controller runs an informer until the term ends. */
async function leading(run: (term: Term) => void, logger: Logger = silentLogger) {
  const store = new MemoryLeaseStore()
  const manager = new Manager({
    identity: 'me',
    lease: { name: 'lease' },
    createLock: () => store.lock('lease'),
    logger,
  })
  const controller = (): Controller => ({
    name: 'janitor',
    run: async (term) => {
      run(term)
      await term.sleep(1e8)
    },
  })
  manager.register(controller, { restart: { maxRestarts: 0 } })
  const began = Promise.withResolvers<void>()
  manager.on(({ kind }) => kind === 'term-began' && began.resolve())
  const running = manager.start()
  running.catch(() => {})
  await began.promise
  await new Promise((resolve) => setImmediate(resolve))
  return { manager, running }
}

/** What an informer tells, and a way to wait for it. */
function recorder() {
  const told: string[] = []
  let wake = () => {}
  const onChange = (change: ObjectChange<V1ConfigMap>) => {
    told.push(`${change.kind} ${change.object.metadata?.name}`)
    wake()
  }
  const until = async (count: number) => {
    while (told.length < count) await new Promise<void>((resolve) => (wake = resolve))
  }
  return { told, onChange, until }
}

async function withInformer(
  options: Partial<InformerOptions<V1ConfigMap>> = {},
  user?: string,
  logger: Logger = silentLogger,
) {
  const record = recorder()
  let configMaps: Informer<V1ConfigMap> | undefined
  const kubeConfig = cluster.kubeConfig(user)
  const leader = await leading((term) => {
    configMaps = informer(term, { kubeConfig, path: CONFIG_MAPS, onChange: record.onChange, ...options })
  }, logger)
  if (configMaps === undefined) throw new Error('The controller did not run')
  return { ...leader, ...record, configMaps }
}

describe('An informer', () => {
  test('lists what is there, tells every change, and keeps what it saw last', async () => {
    await write('first', { a: '1' })
    const { manager, configMaps, told, until } = await withInformer()
    await configMaps.synced
    expect(told).toContain('added first')
    const count = told.length
    await write('second')
    const metadata = configMaps.get('first', 'ops')?.metadata
    await cluster.asAdmin('PUT', `${CONFIG_MAPS}/first`, { metadata, data: { a: '2' } })
    await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/second`)
    await until(count + 3)
    expect(told.slice(count)).toEqual(['added second', 'updated first', 'deleted second'])
    expect(configMaps.get('first', 'ops')?.data).toEqual({ a: '2' })
    expect(configMaps.get('second', 'ops')).toBeUndefined()
    expect(configMaps.list().map(({ metadata }) => metadata?.name)).toContain('first')
    await manager.stop()
    await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/first`)
  })

  test('misses nothing when its watch breaks off, and tells nothing twice', async () => {
    const { manager, configMaps, told, until } = await withInformer({ labelSelector: 'app=janitor' })
    await configMaps.synced
    while (server.faults.countWatches({ resource: 'configmaps' }) === 0) await new Promise((r) => setImmediate(r))
    server.faults.closeWatches({ match: { resource: 'configmaps' }, abruptly: true })
    await write('third')
    await until(1)
    expect(told).toEqual(['added third'])
    expect(
      server.requests.count({ verb: 'list', resource: 'configmaps', userAgent: 'tenure informer janitor' }),
    ).toBeGreaterThan(0)
    await manager.stop()
    await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/third`)
  })

  test('lists again when the server does not keep its version any more, and tells what had changed', async () => {
    const object = (name: string, version: number) => ({
      metadata: { name, namespace: 'ops', resourceVersion: `${version}` },
    })
    let lists = 0
    await using loopback = await LoopbackServer.start(({ url }, response) => {
      if (url?.includes('watch=true') === true && lists === 1) {
        const gone = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }
        response.writeHead(200).end(`${JSON.stringify(gone)}\n`)
      } else if (url?.includes('watch=true') === false) {
        lists += 1
        const items = lists === 1 ? [object('a', 1), object('b', 2)] : [object('b', 2), object('c', 5)]
        answer(response, 200, { metadata: { resourceVersion: `${10 * lists}` }, items })
      } else response.writeHead(200).flushHeaders()
    })
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser({ name: 'c', server: loopback.url, skipTLSVerify: true }, { name: 'u' })
    const problems: Error[] = []
    const { manager, told, until } = await withInformer({ kubeConfig, onProblem: (problem) => problems.push(problem) })
    await until(4)
    expect(told).toEqual(['added a', 'added b', 'deleted a', 'added c'])
    expect(problems).toEqual([])
    await manager.stop()
  })

  /** A store of objects a to d, of which a client saw version 21 before the connection was lost. */
  const restoredStores = [
    {
      what: 'has an older version than was seen',
      before: [
        ['a', 1],
        ['b', 15],
      ],
      event: ['MODIFIED', 'b', 21],
      after: {
        version: 12,
        objects: [
          ['b', 2],
          ['c', 5],
        ],
      },
      told: ['added a', 'added b', 'updated b', 'deleted a', 'updated b', 'added c'],
    },
    {
      what: 'has an older version than was seen, and the object that was deleted last is not there either',
      before: [
        ['a', 1],
        ['b', 15],
      ],
      event: ['DELETED', 'b', 21],
      after: {
        version: 12,
        objects: [
          ['a', 1],
          ['c', 5],
        ],
      },
      told: ['added a', 'added b', 'deleted b', 'added c'],
    },
    {
      what: 'has outgrown the version that was seen, and has an older version of the object that changed last',
      before: [
        ['a', 1],
        ['b', 15],
      ],
      event: ['MODIFIED', 'b', 21],
      after: {
        version: 30,
        objects: [
          ['b', 2],
          ['c', 18],
        ],
      },
      told: ['added a', 'added b', 'updated b', 'deleted a', 'updated b', 'added c'],
    },
    {
      what: 'has outgrown the version that was seen, and lacks the object that changed last',
      before: [['a', 1]],
      event: ['ADDED', 'd', 21],
      after: {
        version: 30,
        objects: [
          ['a', 1],
          ['c', 18],
        ],
      },
      told: ['added a', 'added d', 'deleted d', 'added c'],
    },
    {
      what: 'has outgrown the version that was seen, and has the object that was deleted last',
      before: [
        ['a', 1],
        ['b', 15],
      ],
      event: ['DELETED', 'b', 21],
      after: {
        version: 30,
        objects: [
          ['a', 1],
          ['b', 15],
          ['c', 18],
        ],
      },
      told: ['added a', 'added b', 'deleted b', 'added b', 'added c'],
    },
    {
      what: 'has outgrown the version that was listed, and has an older version of the newest object of the list',
      before: [
        ['a', 1],
        ['b', 15],
      ],
      event: undefined,
      after: {
        version: 30,
        objects: [
          ['a', 1],
          ['b', 2],
          ['c', 18],
        ],
      },
      told: ['added a', 'added b', 'updated b', 'added c'],
    },
  ] as const

  test.each(restoredStores)(
    'lists again after a lost connection when the store $what',
    async ({ before, event, after, told: expected }) => {
      await using store = await StoreBehindConnection.start({ version: 20, objects: before }, event)
      const { manager, told, until } = await withInformer({ kubeConfig: store.server.kubeConfig() })
      await until(before.length + (event === undefined ? 0 : 1))
      store.restore(after)
      await until(expected.length)
      expect(told).toEqual(expected)
      await manager.stop()
    },
  )

  const goingOn = [
    {
      what: 'that changed last is still there',
      event: ['MODIFIED', 'b', 21],
      objects: [
        ['a', 1],
        ['b', 21],
        ['c', 25],
      ],
    },
    { what: 'that was deleted last is still gone', event: ['DELETED', 'b', 21], objects: [['a', 1]] },
  ] as const

  test.each(goingOn)(
    'goes on from where it was after a lost connection when the store went on, without another list: the object $what',
    async ({ event, objects }) => {
      const before = [
        ['a', 1],
        ['b', 15],
      ] as const
      await using store = await StoreBehindConnection.start({ version: 20, objects: before }, event)
      const { manager, until } = await withInformer({ kubeConfig: store.server.kubeConfig() })
      await until(3)
      store.restore({ version: 25, objects })
      const again = await store.watched.promise
      expect(again.searchParams.get('resourceVersion')).toBe('21')
      expect(store.lists).toBe(1)
      await manager.stop()
    },
  )

  test.each([
    [
      {},
      [
        ['a', 5],
        ['b', 1],
      ],
      { fieldSelector: 'metadata.name=a,metadata.namespace=ops' },
    ],
    [{}, [], {}],
    [
      { labelSelector: 'app=web', fieldSelector: 'status.phase=Running' },
      [['a', 1]],
      { labelSelector: 'app=web', fieldSelector: 'status.phase=Running,metadata.name=a,metadata.namespace=ops' },
    ],
  ] as const)(
    'asks for what it follows, in pages, and after a lost connection for what changed last',
    async (selector, objects, last) => {
      await using store = await StoreBehindConnection.start({ version: 20, objects }, undefined)
      const options = { ...selector, kubeConfig: store.server.kubeConfig(), random: () => 0 }
      const { manager, configMaps } = await withInformer(options)
      await configMaps.synced
      store.restore({ version: 25, objects })
      await store.watched.promise
      const watch = {
        ...selector,
        watch: 'true',
        allowWatchBookmarks: 'true',
        resourceVersion: '20',
        timeoutSeconds: '240',
      }
      expect(queriesTo(store.server)).toEqual([
        { limit: '500', ...selector },
        watch,
        { limit: '1', ...selector, ...last },
        watch,
      ])
      await manager.stop()
    },
  )

  test('says what it could not list', async () => {
    await using loopback = await LoopbackServer.start((_, response) => answer(response, 500, {}))
    const problem = Promise.withResolvers<Error>()
    const { manager } = await withInformer({ kubeConfig: loopback.kubeConfig(), onProblem: problem.resolve })
    expect((await problem.promise).message).toBe('Could not list configmaps in namespace ops: the server failed (500)')
    await manager.stop()
  })

  test('of objects without a namespace asks for the one that changed last by its name; without an answer it lists again', async () => {
    const items = [{ metadata: { name: 'n', resourceVersion: '5' } }]
    const again = Promise.withResolvers<void>()
    let watches = 0
    await using loopback = await LoopbackServer.start(({ url = '', socket }, response) => {
      const { searchParams } = new URL(url, 'http://x')
      if (!searchParams.has('watch')) {
        answer(response, 200, searchParams.get('limit') === '1' ? {} : { metadata: { resourceVersion: '7' }, items })
      } else if (++watches === 1) {
        response.writeHead(200).flushHeaders()
        socket.end()
      } else {
        response.writeHead(200).flushHeaders()
        again.resolve()
      }
    })
    const { manager } = await withInformer({ kubeConfig: loopback.kubeConfig(), path: '/api/v1/nodes' })
    await again.promise
    const queries = queriesTo(loopback).filter(({ watch }) => watch === undefined)
    expect(queries).toEqual([{ limit: '500' }, { limit: '1', fieldSelector: 'metadata.name=n' }, { limit: '500' }])
    await manager.stop()
  })

  test('reads all pages of a list', async () => {
    const page = (token: string | undefined, ...names: readonly string[]) => ({
      metadata: { resourceVersion: '7', ...(token !== undefined && { continue: token }) },
      items: names.map((name) => ({ metadata: { name, namespace: 'ops', resourceVersion: '1' } })),
    })
    const pages = new Map([
      [null, page('two', 'a', 'b')],
      ['two', page('three', 'c')],
      ['three', page('', 'd')],
    ])
    await using loopback = await LoopbackServer.start(({ url = '' }, response) => {
      const { searchParams } = new URL(url, 'http://x')
      if (searchParams.has('watch')) response.writeHead(200).flushHeaders()
      else answer(response, 200, pages.get(searchParams.get('continue')))
    })
    const { manager, configMaps, told } = await withInformer({ kubeConfig: loopback.kubeConfig() })
    await configMaps.synced
    expect(told).toEqual(['added a', 'added b', 'added c', 'added d'])
    expect(queriesTo(loopback).slice(0, 3)).toEqual([
      { limit: '500' },
      { limit: '500', continue: 'two' },
      { limit: '500', continue: 'three' },
    ])
    await manager.stop()
  })

  test.each([
    ['The list has no items', { metadata: { resourceVersion: '7' }, items: 'x' }],
    ['The list has no items', 'x'],
    ['The list has no resource version', { metadata: {}, items: [] }],
  ])('takes an answer that is no list for a failure: %s', async (message, list) => {
    await using loopback = await LoopbackServer.start((_, response) => answer(response, 200, list))
    const problem = Promise.withResolvers<Error>()
    const options = { kubeConfig: loopback.kubeConfig(), clock: new ManualClock(), onProblem: problem.resolve }
    const { manager, told } = await withInformer(options)
    expect((await problem.promise).message).toBe(message)
    expect(told).toEqual([])
    await manager.stop()
  })

  test('tries again when the server does not answer its list within a minute', async () => {
    await using loopback = await LoopbackServer.start(() => {})
    const clock = new ManualClock()
    const problems: Error[] = []
    const options = { kubeConfig: loopback.kubeConfig(), clock, onProblem: (problem: Error) => problems.push(problem) }
    const { manager } = await withInformer(options)
    await loopback.untilRequests(1)
    clock.advance(59_999)
    await new Promise((resolve) => setImmediate(resolve))
    expect(problems).toEqual([])
    clock.advance(1)
    await loopback.untilRequests(2)
    expect(problems.map(({ message }) => message)).toEqual([expect.stringContaining('the request was aborted')])
    await manager.stop()
  })

  test('takes a watch for dead that the server does not end in time, and says when it works again', async () => {
    await using loopback = await LoopbackServer.start(({ url }, response) => {
      if (url?.includes('watch=true') === true) response.writeHead(200).flushHeaders()
      else answer(response, 200, { metadata: { resourceVersion: '7' }, items: [] })
    })
    const clock = new ManualClock()
    const lines: Line[] = []
    const options = { kubeConfig: loopback.kubeConfig(), clock, random: () => 0 }
    const { manager } = await withInformer(options, undefined, recordingLogger(lines))
    while (!clock.pendingDelays.includes(270_000)) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(270_000)
    while (!clock.pendingDelays.includes(270_000)) await new Promise((resolve) => setImmediate(resolve))
    clock.advance(1000)
    expect(lines.filter(({ fields }) => fields['path'] === CONFIG_MAPS).map(({ message }) => message)).toEqual([
      `informer ${CONFIG_MAPS} failed and is retrying: The server did not end the watch in time`,
      `informer ${CONFIG_MAPS} works again`,
    ])
    await manager.stop()
  })

  test('tries again when the server does not answer its watch within 10 s', async () => {
    await using loopback = await LoopbackServer.start(({ url }, response) => {
      if (url?.includes('watch=true') === false)
        answer(response, 200, { metadata: { resourceVersion: '7' }, items: [] })
    })
    const clock = new ManualClock()
    const problem = Promise.withResolvers<Error>()
    const kubeConfig = loopback.kubeConfig()
    const { manager } = await withInformer({ kubeConfig, clock, onProblem: problem.resolve })
    await loopback.untilRequests(2)
    clock.advance(10_000)
    expect((await problem.promise).message).toBe('The server did not answer the watch within 10000 ms')
    await manager.stop()
  })

  test('connects again at once whenever a watch breaks that has held for a while', async () => {
    const clock = new ManualClock()
    const watches: ServerResponse[] = []
    const watched = new EventEmitter()
    await using loopback = await LoopbackServer.start(({ url }, response) => {
      if (url?.includes('watch=true') === false) {
        return answer(response, 200, { metadata: { resourceVersion: '7' }, items: [] })
      }
      response.writeHead(200).flushHeaders()
      watches.push(response)
      watched.emit('watch')
    })
    const { manager } = await withInformer({ kubeConfig: loopback.kubeConfig(), clock, random: () => 0 })
    for (const count of [1, 2, 3, 4]) {
      while (watches.length < count) await once(watched, 'watch')
      // Past the timer of the opening, which is cancelled when the head of the answer arrives.
      while (!clock.pendingDelays.includes(270_000)) await new Promise((resolve) => setImmediate(resolve))
      clock.advance(5000)
      watches.at(-1)?.destroy()
    }
    expect(clock.now()).toBe(20_000)
    await manager.stop()
  })

  test('tells why it cannot list, naming the right that is missing, and goes on trying', async () => {
    const problem = Promise.withResolvers<Error>()
    const { manager, configMaps } = await withInformer({ onProblem: problem.resolve }, 'nobody')
    expect((await problem.promise).message).toContain('the verb "list" on the resource "configmaps"')
    const synced = expect(configMaps.synced).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' })
    await manager.stop()
    await synced
  })

  test('says in the log, to its user and in a health check that the server does not serve its path', async () => {
    const lines: Line[] = []
    const problem = Promise.withResolvers<Error>()
    const path = '/apis/ops.example.com/v1/namespaces/ops/widgets'
    let failures = 0
    const onProblem = (error: Error) => {
      failures += 1
      if (failures === 3) problem.resolve(error)
    }
    const { manager } = await withInformer({ path, onProblem }, undefined, recordingLogger(lines))
    const { message } = await problem.promise
    expect(message).toContain('does not serve the resource "widgets" of API group "ops.example.com"')
    const warnings = lines.filter(({ fields }) => fields['event'] === 'informer-down')
    expect(warnings).toMatchObject([
      {
        level: 'warn',
        message: `informer ${path} failed and is retrying: ${message}`,
        fields: { lease: 'lease', controller: 'janitor', epoch: 1n, path },
      },
    ])
    const result = await manager.livez.runOne('janitor.informer-widgets.ops.example.com-ops')
    expect(result?.failure?.message).toContain(`Informer ${path} has not listed yet (failed attempts: 3): ${message}`)
    await manager.stop()
    expect(manager.livez.names).not.toContain('janitor.informer-widgets.ops.example.com-ops')
  })

  test('has a health check while it runs, which passes for as long as what it has listed is fresh', async () => {
    const [health, stopping, clock] = [new HealthRegistry(), new AbortController(), new ManualClock()]
    let refuses = false
    await using server = await LoopbackServer.start((message, response) => {
      if (refuses) answer(response, 500, {})
      else if (message.url?.includes('watch=')) response.writeHead(200).flushHeaders()
      else answer(response, 200, { metadata: { resourceVersion: '10' }, items: [] })
    })
    const work: Promise<unknown>[] = []
    const owner = {
      controller: 'janitor',
      signal: stopping.signal,
      health,
      spawn: <T>(_: string, run: (signal: AbortSignal) => T | Promise<T>) => {
        const task = Promise.resolve(run(stopping.signal))
        work.push(task.catch(() => {}))
        return task
      },
    }
    const problem = Promise.withResolvers<Error>()
    const options = { kubeConfig: server.kubeConfig(), path: CONFIG_MAPS, clock, onProblem: problem.resolve }
    const configMaps = informer(owner as unknown as InformerOwner, options)
    await configMaps.synced
    expect(health.names).toEqual(['informer-configmaps-ops'])
    refuses = true
    server.connections.forEach((socket) => socket.destroy())
    await problem.promise
    expect((await health.run()).map(({ failure }) => failure)).toEqual([undefined])
    stopping.abort(new Error('over'))
    await Promise.all(work)
    expect(health.names).toEqual([])
  })

  test('gives each of several informers of one collection a health check', async () => {
    const { manager } = await leading((term) => {
      for (const labelSelector of ['a=b', 'c=d']) {
        informer(term, { kubeConfig: cluster.kubeConfig(), path: CONFIG_MAPS, labelSelector })
      }
    })
    expect(manager.livez.names).toEqual(
      expect.arrayContaining(['janitor.informer-configmaps-ops', 'janitor.informer-configmaps-ops-2']),
    )
    await manager.stop()
  })

  test('fails its controller when what is done about a change fails', async () => {
    await write('fourth')
    const { manager } = await withInformer({ onChange: () => Promise.reject(new Error('cannot sweep')) })
    const failed = Promise.withResolvers<unknown>()
    manager.on((event) => {
      if (event.kind === 'controller-failed') failed.resolve(event.error)
    })
    expect(await failed.promise).toEqual(new Error('cannot sweep'))
    await manager.stop()
    await cluster.asAdmin('DELETE', `${CONFIG_MAPS}/fourth`)
  })

  test.each(['configmaps', '/api/v1/namespaces/ops/configmaps/one', '/api/v1/configmaps?watch=true', '/apis/v1'])(
    'is refused for `%s`, which is no collection',
    async (path) => {
      const failure = Promise.withResolvers<unknown>()
      const { manager } = await leading((term) => {
        try {
          informer(term, { kubeConfig: new KubeConfig(), path })
        } catch (error) {
          failure.resolve(error)
        }
      })
      expect(await failure.promise).toMatchObject({ code: 'BAD_OPTIONS', message: expect.stringContaining(path) })
      await manager.stop()
    },
  )
})

describe('When its term ends, an informer leaves nothing behind', () => {
  test.each([
    ['while it lists', { verb: 'list' }, 'black-hole'],
    ['while it lists, the answer on its way', { verb: 'list' }, 'black-hole-after'],
    ['while it connects its watch', { verb: 'watch' }, 'black-hole'],
    ['while it watches', undefined, undefined],
  ] as const)('%s', async (_when, match, effect) => {
    const leaks = watchForLeaks(LEAKS)
    const fault =
      match && effect && server.faults.add({ match: { ...match, resource: 'configmaps' }, effect: { kind: effect } })
    const { manager, configMaps, running } = await withInformer()
    if (fault === undefined) await configMaps.synced
    const isThere = () =>
      fault === undefined ? server.faults.countWatches({ resource: 'configmaps' }) > 0 : fault.hits > 0
    while (!isThere()) await new Promise((resolve) => setImmediate(resolve))
    await manager.stop()
    await running
    expect(manager.candidacies[0]?.liveTasks()).toEqual([])
    while (server.faults.countWatches({ resource: 'configmaps' }) > 0) await new Promise((r) => setImmediate(r))
    await leaks.assertNone()
  })

  test('while it waits to try again, with a connection that lies idle', async () => {
    await using loopback = await LoopbackServer.start(({ url }, response) => {
      if (url?.includes('watch=true') === true) answer(response, 503, {})
      else answer(response, 200, { metadata: { resourceVersion: '1' }, items: [] })
    })
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromClusterAndUser({ name: 'c', server: loopback.url, skipTLSVerify: true }, { name: 'u' })
    const refused = Promise.withResolvers<Error>()
    const { manager } = await withInformer({ kubeConfig, onProblem: refused.resolve })
    await refused.promise
    expect(loopback.openConnections).toBe(1)
    await manager.stop()
    await loopback.untilDeserted()
    // Well before idle connections time out by themselves.
  }, 2000)

  test('before it has begun', async () => {
    const leaks = watchForLeaks(LEAKS)
    const late = Promise.withResolvers<KubeConfig>()
    const { manager, running } = await withInformer({ kubeConfig: () => late.promise })
    await manager.stop()
    await running
    late.resolve(cluster.kubeConfig())
    await leaks.assertNone()
  })
})
