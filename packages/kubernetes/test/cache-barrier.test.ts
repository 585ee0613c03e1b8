import type { ServerResponse } from 'node:http'
import { KubeConfig } from '@kubernetes/client-node'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Informer, informer } from '../src/informer/informer.ts'
import type { ApiObject, InformerOwner, LedOwner } from '../src/informer/informer-options.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'

const object = (name: string, version: number) => ({
  metadata: { name, namespace: 'ops', resourceVersion: String(version) },
})

/** An owner that becomes a leader while the informer runs, as a warm-up does. */
class Owner implements InformerOwner {
  readonly controller = 'janitor'
  readonly #end = new AbortController()
  leadership: LedOwner['leadership']
  /** What the informer noted about the term. */
  readonly noted: Record<string, string> = {}
  readonly lines: Line[] = []
  readonly taskNames: string[] = []
  readonly logger = recordingLogger(this.lines)
  readonly #tasks: Promise<unknown>[] = []

  get signal(): AbortSignal {
    return this.#end.signal
  }

  spawn<T>(name: string, work: (signal: AbortSignal) => T | Promise<T>): Promise<T> {
    this.taskNames.push(name)
    const task = Promise.resolve(work(this.signal))
    this.#tasks.push(task.catch(() => {}))
    return task
  }

  leads(versions: Readonly<Record<string, string>> | undefined): void {
    this.leadership = {
      bequests: {
        legacy: { versions: versions && new Map(Object.entries(versions)) },
        noteVersion: (collection, version) => void (this.noted[collection] = version),
      },
    }
  }

  async end(): Promise<void> {
    this.#end.abort(new Error('the term is over'))
    await Promise.all(this.#tasks)
  }
}

/** A server whose lists show what `items` holds at that time, and whose watches say what the test sends. */
async function follower(
  path = CONFIG_MAPS,
  before: (owner: Owner) => void = () => {},
  selector: { readonly labelSelector?: string } = {},
  initialVersion: number | string = 10,
) {
  const store = { items: [object('a', 5)], version: initialVersion, lists: 0, answers: Promise.resolve() }
  const watches: ServerResponse[] = []
  const watching = Promise.withResolvers<void>()
  const server = await LoopbackServer.start(({ url }, response) => {
    if (url?.includes('watch=true') === true) {
      watches.push(response.writeHead(200))
      response.flushHeaders()
      watching.resolve()
      return
    }
    store.lists += 1
    const list = { metadata: { resourceVersion: String(store.version) }, items: store.items }
    void store.answers.then(() => answer(response, 200, list))
  })
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromClusterAndUser({ name: 'c', server: server.url, skipTLSVerify: true }, { name: 'u' })
  const owner = new Owner()
  before(owner)
  const clock = new ManualClock()
  const cache = informer<ApiObject>(owner, { kubeConfig, path, clock, ...selector })
  onTestFinished(async () => {
    await owner.end()
    await server[Symbol.asyncDispose]()
  })
  await cache.synced
  await watching.promise
  const send = (type: string, sent: object) => watches.at(-1)?.write(`${JSON.stringify({ type, object: sent })}\n`)
  return { owner, cache, clock, store, send }
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Resolves when the cache shows this version of the object `a`. */
async function untilShown(cache: Informer<ApiObject>, version: string): Promise<void> {
  while (cache.get('a', 'ops')?.metadata?.resourceVersion !== version) await turn()
}

async function isPending(promise: Promise<void>): Promise<boolean> {
  return (await Promise.race([promise.then(() => 'settled'), turn().then(() => 'pending')])) === 'pending'
}

describe('The cache of a warm-up, in the term that follows', () => {
  test('is synced when it shows the last write of the term before', async () => {
    const { owner, cache, store, send } = await follower()
    owner.leads({ 'configmaps/ops': '20', 'pods/ops': '90' })
    const { synced } = cache
    expect(cache.synced).toBe(synced)
    send('MODIFIED', object('a', 19))
    await untilShown(cache, '19')
    expect(await isPending(synced)).toBe(true)
    send('MODIFIED', object('a', 20))
    await synced
    expect(cache.get('a', 'ops')?.metadata?.resourceVersion).toBe('20')
    expect(store.lists).toBe(1)
  })

  test.each([
    ['an event', () => 'BOOKMARK'],
    ['a deletion', () => 'DELETED'],
  ])('counts %s as news of that version', async (_, kind) => {
    const { owner, cache, store, send } = await follower()
    owner.leads({ 'configmaps/ops': '20' })
    const { synced } = cache
    send(kind(), object('a', 21))
    await synced
    expect(store.lists).toBe(1)
  })

  test.each([
    ['shows it already', { 'configmaps/ops': '10' }],
    ['is of a collection that the term before did not write', { 'pods/ops': '99', 'configmaps/other': '99' }],
    ['follows terms that wrote nothing', {}],
    ['shows it already, and other collections are not known', { '*': '', 'configmaps/ops': '10' }],
  ])('is synced at once if it %s', async (_, versions) => {
    const { owner, cache, store } = await follower()
    owner.leads(versions)
    await cache.synced
    expect(store.lists).toBe(1)
    expect(owner.noted).toEqual({})
    expect(owner.lines).toEqual([])
  })

  test.each([
    ['the term before crashed', undefined],
    ['the version of a write is not known', { 'configmaps/ops': '' }],
    ['the version is not a decimal number', { 'configmaps/ops': 'v1' }],
    ['an earlier term crashed, and no later one wrote or read the collection', { '*': '', 'pods/ops': '7' }],
  ])('is read again if %s, and the next term knows the version of that list', async (_, versions) => {
    const { owner, cache, store } = await follower()
    store.items = [object('b', 30)]
    store.version = 31
    owner.leads(versions)
    await cache.synced
    expect(cache.list().map(({ metadata }) => metadata?.name)).toEqual(['b'])
    expect(store.lists).toBe(2)
    expect(owner.noted).toEqual({ 'configmaps/ops': '31' })
  })

  test('of all namespaces is read again if one of them is not known, and notes each', async () => {
    const { owner, cache, store } = await follower('/api/v1/configmaps')
    store.version = 31
    owner.leads({ '*': '', 'configmaps/ops': '', 'configmaps/other': '5' })
    await cache.synced
    expect(store.lists).toBe(2)
    expect(owner.noted).toEqual({ configmaps: '31', 'configmaps/ops': '31' })
    expect(owner.lines.map(({ fields }) => fields['event'])).toEqual(['informer-lists-again'])
  })

  test('is read again if a list that was requested before the term is still in flight', async () => {
    const { owner, cache, store, send } = await follower()
    const held = Promise.withResolvers<void>()
    store.answers = held.promise
    send('ERROR', { kind: 'Status', code: 410 })
    while (store.lists < 2) await turn()
    store.answers = Promise.resolve()
    store.items = [object('b', 30)]
    owner.leads(undefined)
    const { synced } = cache
    held.resolve()
    await synced
    expect(cache.list().map(({ metadata }) => metadata?.name)).toEqual(['b'])
    expect(store.lists).toBe(3)
  })

  test('is read again if its versions are no numbers, as those of an aggregated API may be, and the log says so once', async () => {
    const { owner, cache, store } = await follower(CONFIG_MAPS, () => {}, {}, 'v1')
    store.items = [object('b', 30)]
    store.version = 'v2'
    owner.leads({ 'configmaps/ops': '' })
    await Promise.all([cache.synced, cache.synced])
    expect(cache.list().map(({ metadata }) => metadata?.name)).toEqual(['b'])
    expect(owner.noted).toEqual({ 'configmaps/ops': 'v2' })
    expect(owner.lines.filter(({ level }) => level !== 'debug')).toEqual([
      {
        level: 'info',
        message:
          'informer /api/v1/namespaces/ops/configmaps lists again after the handover: its resource versions, such as `v1`, are no decimal numbers',
        fields: { event: 'informer-lists-again', path: CONFIG_MAPS },
      },
    ])
  })

  test('is read again after a crash without a line above `debug`', async () => {
    const { owner, cache } = await follower()
    owner.leads(undefined)
    await cache.synced
    expect(owner.lines.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      `debug: informer ${CONFIG_MAPS} lists again after the handover: not all versions that earlier terms wrote are known`,
    ])
  })

  test('is read again after 250 ms without the version', async () => {
    const { owner, cache, clock, store } = await follower()
    owner.leads({ 'configmaps/ops': '20' })
    const { synced } = cache
    expect(await isPending(synced)).toBe(true)
    store.version = 15
    clock.advance(250)
    await synced
    expect(store.lists).toBe(2)
  })

  test('of all namespaces waits for the greatest version of any of them, or is read again', async () => {
    const { owner, cache, store, send } = await follower('/api/v1/configmaps')
    owner.leads({ 'configmaps/ops': '9', 'configmaps/other': '101', 'configmapsets/x': '999' })
    const { synced } = cache
    send('MODIFIED', object('a', 99))
    await untilShown(cache, '99')
    expect(await isPending(synced)).toBe(true)
    send('MODIFIED', object('a', 101))
    await synced
    expect(store.lists).toBe(1)
  })

  test('with a selector is read again at once, as the event may never come', async () => {
    const { owner, cache, store } = await follower(CONFIG_MAPS, () => {}, { labelSelector: 'app=web' })
    owner.leads({ 'configmaps/ops': '20' })
    store.version = 20
    await cache.synced
    expect(store.lists).toBe(2)
  })

  test('leaves no timer and no unhandled rejection if it is asked first after the end', async () => {
    const { owner, cache, clock } = await follower()
    owner.leads({ 'configmaps/ops': '20' })
    await owner.end()
    const ignored = cache.synced
    for (let i = 0; i < 5; i += 1) await turn()
    expect(clock.pendingTimers).toBe(0)
    await expect(ignored).rejects.toThrow('the term is over')
  })

  test('rejects when the term ends first', async () => {
    const { owner, cache } = await follower()
    owner.leads({ 'configmaps/ops': '20' })
    const { synced } = cache
    const ended = expect(synced).rejects.toThrow('the term is over')
    expect(await isPending(synced.catch(() => {}))).toBe(true)
    await owner.end()
    await ended
  })
})

describe('The cache of an informer that the term itself starts', () => {
  test('is kept by tasks whose names say what they do', async () => {
    const { owner, cache, send } = await follower()
    send('MODIFIED', object('a', 19))
    await untilShown(cache, '19')
    send('DELETED', object('a', 20))
    while (cache.list().length > 0) await turn()
    expect(owner.taskNames).toEqual([`informer ${CONFIG_MAPS}`, 'on added', 'on updated', 'on deleted'])
  })

  test('needs no barrier: its first list is later than the writes of the term before', async () => {
    const { cache, owner, store } = await follower(CONFIG_MAPS, (leader) => leader.leads({ 'configmaps/ops': '20' }))
    await cache.synced
    expect(store.lists).toBe(1)
    expect(owner.noted).toEqual({})
  })

  test('notes the version of its first list if the writes of earlier terms are not known', async () => {
    const { cache, owner } = await follower(CONFIG_MAPS, (leader) => leader.leads(undefined))
    await cache.synced
    expect(owner.noted).toEqual({ 'configmaps/ops': '10' })
  })
})
