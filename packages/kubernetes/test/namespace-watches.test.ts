import type { ServerResponse } from 'node:http'
import { describe, expect, test, vi } from 'vitest'
import { ApiTransport } from '../src/client/api-transport.ts'
import { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { answer, LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'

const PODS = { group: '', version: 'v1', resource: 'pods', namespace: 'ops' }

type Reply = (
  response: ServerResponse,
  request: { readonly name: string | undefined; readonly isWatch: boolean },
) => void

const serve: Reply = (response, { name, isWatch }) => {
  const items = name === undefined ? [] : [{ metadata: { name, resourceVersion: '5' } }]
  if (isWatch) response.writeHead(200).flushHeaders()
  else answer(response, 200, { metadata: { resourceVersion: '10' }, items })
}

/** Watches of Pods on a scripted server. */
async function watching() {
  const run: { reply: Reply } = { reply: serve }
  const requests: string[] = []
  const server = await LoopbackServer.start((message, response) => {
    const { searchParams } = new URL(message.url ?? '', 'http://x')
    const isWatch = searchParams.has('watch')
    const name = searchParams.get('fieldSelector')?.replace('metadata.name=', '')
    requests.push(`${isWatch ? 'watch' : 'list'} ${name ?? 'all'}`)
    run.reply(response, { name, isWatch })
  })
  const [clock, lines, calls] = [new ManualClock(), [] as Line[], [] as string[]]
  const client = new LeaseClient({
    kubeConfig: server.kubeConfig(),
    clock,
    random: () => 0,
    logger: recordingLogger(lines),
  })
  const follow = (name: string, isOptional = false) =>
    client.watch(
      { ...PODS, name },
      {
        silenceMs: 4000,
        isOptional,
        observer: {
          changed: ({ kind }) => calls.push(`${name} ${kind}`),
          up: () => calls.push(`${name} up`),
          down: ({ message }) => calls.push(`${name} down: ${message}`),
        },
      },
    )
  const until = async (condition: () => boolean) => {
    while (!condition()) await new Promise((resolve) => setImmediate(resolve))
  }
  return Object.assign(run, {
    server,
    clock,
    lines,
    calls,
    requests,
    follow,
    until,
    close: () => client.close(),
    async [Symbol.asyncDispose]() {
      await client.close()
      await server.untilDeserted()
      await server[Symbol.asyncDispose]()
    },
  })
}

const refusing =
  (statusCode: number, isRefused: (name: string | undefined) => boolean): Reply =>
  (response, request) => {
    if (isRefused(request.name)) answer(response, statusCode, {})
    else serve(response, request)
  }

describe('objects of one namespace', () => {
  test('are watched by name while there is one, and all together from the second on', async () => {
    await using run = await watching()
    run.follow('a')
    run.follow('a')
    await run.until(() => run.requests.length === 2)
    run.follow('b')
    await run.until(() => run.requests.length === 4)
    run.follow('c')
    await run.until(() => run.requests.length === 5)
    expect(run.requests).toEqual(['list a', 'watch a', 'list all', 'watch all', 'list c'])
  })

  test('are not heard of any more after their subscription is closed, and the others still are', async () => {
    await using run = await watching()
    const [a, b] = [run.follow('a'), run.follow('b')]
    await run.until(() => run.calls.length === 4)
    await a.close()
    expect(run.server.openConnections).toBe(1)
    await b.close()
    await run.server.untilDeserted()
    run.follow('c')
    await run.until(() => run.requests.length === 4)
    expect(run.requests).toEqual(['list all', 'watch all', 'list c', 'watch c'])
    expect(run.calls.slice(0, 4)).toEqual(['a absent', 'b absent', 'a up', 'b up'])
  })

  test('stay in the watch that they share, also if there is only one left', async () => {
    await using run = await watching()
    run.follow('a')
    const b = run.follow('b')
    await run.until(() => run.calls.length === 4)
    await b.close()
    run.follow('a')
    await run.until(() => run.calls.length === 6)
    expect(run.requests).toEqual(['list all', 'watch all', 'list a'])
  })

  test('that were watched by name are watched again after the last of them was closed', async () => {
    await using run = await watching()
    const first = run.follow('a')
    await run.until(() => run.calls.length === 2)
    await first.close()
    run.follow('a')
    await run.until(() => run.calls.length === 4)
    expect(run.requests).toEqual(['list a', 'watch a', 'list a', 'watch a'])
  })

  test('are closed with the client, which also waits for a watch that has ended before', async () => {
    await using run = await watching()
    const held = Promise.withResolvers<void>()
    const close = Reflect.get(ApiTransport.prototype, 'close')
    using closeTransport = vi.spyOn(ApiTransport.prototype, 'close')
    const watch = run.follow('a')
    await run.until(() => run.calls.length === 2)
    closeTransport.mockImplementationOnce(async function closeLater(this: ApiTransport) {
      await held.promise
      await Reflect.apply(close, this, [])
    })
    const ends: string[] = []
    const closed = [watch.close().then(() => ends.push('watch')), run.close().then(() => ends.push('client'))]
    const turn = () => new Promise((resolve) => setImmediate(resolve))
    await turn()
    for (const { value } of closeTransport.mock.results.slice(1)) await value
    await turn()
    expect(ends).toEqual([])
    held.resolve()
    await Promise.all(closed)
    expect(closeTransport).toHaveBeenCalledTimes(2)
  })

  test('that are closed before they are served cost no request', async () => {
    await using run = await watching()
    const closing = run.follow('a').close()
    await closing
    run.follow('b')
    await run.until(() => run.calls.length === 2)
    expect(run.requests).toEqual(['list b', 'watch b'])
  })
})

describe('a shared watch', () => {
  test('is up for an object that joins it when its stream is open, and not before', async () => {
    await using run = await watching()
    let open = (): void => {}
    run.reply = (response, request) => {
      if (request.isWatch) open = () => serve(response, request)
      else serve(response, request)
    }
    run.follow('a')
    run.follow('b')
    await run.until(() => run.requests.length === 2)
    run.follow('c')
    await run.until(() => run.calls.length >= 3)
    expect(run.calls).toEqual(['a absent', 'b absent', 'c present'])
    open()
    await run.until(() => run.calls.length === 6)
    expect(run.calls.slice(3)).toEqual(['a up', 'b up', 'c up'])
  })

  test('is not up for an object that joins it while its stream is opened again', async () => {
    await using run = await watching()
    const streams: ServerResponse[] = []
    let open = (): void => {}
    run.reply = (response, request) => {
      if (!request.isWatch) serve(response, request)
      else if (streams.push(response) === 1) serve(response, request)
      else open = () => serve(response, request)
    }
    run.follow('a')
    run.follow('b')
    await run.until(() => run.calls.length === 4)
    run.clock.advance(2000)
    streams[0]?.end()
    await run.until(() => streams.length === 2)
    run.follow('c')
    await run.until(() => run.calls.length >= 5)
    expect(run.calls.slice(4)).toEqual(['c present'])
    open()
    await run.until(() => run.calls.length === 6)
    expect(run.calls.slice(5)).toEqual(['c up'])
  })

  test('shows an object that is older in a store whose version is not, as after a restore, and says so', async () => {
    await using run = await watching()
    const streams: ServerResponse[] = []
    let [storeVersion, versionOfA] = [10, 5]
    run.reply = (response, request) => {
      const items = Object.entries({ a: versionOfA, b: 5 }).map(([name, version]) => ({
        metadata: { name, resourceVersion: String(version) },
      }))
      if (!request.isWatch) answer(response, 200, { metadata: { resourceVersion: String(storeVersion) }, items })
      else if (streams.push(response) > 0) serve(response, request)
    }
    run.follow('a')
    run.follow('b')
    await run.until(() => run.calls.length === 4)
    ;[storeVersion, versionOfA] = [20, 3]
    streams[0]?.write('{"type":"ERROR","object":{"code":410}}\n')
    await run.until(() => {
      run.clock.advance(10)
      return streams.length === 2
    })
    expect(run.calls.slice(4)).toContain('a present')
    expect(run.lines.map(({ fields }) => fields['event'])).toEqual(['store-restored'])
  })

  test('lists again where it cannot read an object that joins it', async () => {
    await using run = await watching()
    run.follow('a')
    run.follow('b')
    await run.until(() => run.calls.length === 4)
    run.reply = refusing(500, (name) => name === 'c')
    run.follow('c')
    await run.until(() => run.requests.length === 5)
    await run.until(() => run.calls.length === 10)
    expect(run.requests).toEqual(['list all', 'watch all', 'list c', 'list all', 'watch all'])
    expect(run.calls).toContain('c up')
  })

  test('that is forbidden is replaced by one for each object if those are allowed, and the log says so', async () => {
    await using run = await watching()
    run.reply = refusing(403, (name) => name === undefined)
    run.follow('a')
    run.follow('b')
    await run.until(() => run.calls.length === 4)
    run.follow('c')
    await run.until(() => run.calls.length === 6)
    expect(run.calls.toSorted()).toEqual(['a present', 'a up', 'b present', 'b up', 'c present', 'c up'])
    expect(run.lines).toEqual([
      {
        level: 'warn',
        message: 'not allowed to list and watch pods ops/*: each object gets its own watch',
        fields: { event: 'watch-not-shared', namespace: 'ops', err: expect.objectContaining({ statusCode: 403 }) },
      },
    ])
  })

  test('that is forbidden is not replaced if nobody wants it any more', async () => {
    await using run = await watching()
    let allow = (): void => {}
    run.reply = (response, request) => {
      if (request.name === undefined) answer(response, 403, {})
      else allow = () => serve(response, request)
    }
    const [a, b] = [run.follow('a'), run.follow('b')]
    await run.until(() => run.requests.length === 2)
    const closing = Promise.all([a.close(), b.close()])
    allow()
    await closing
    expect([run.requests, run.lines, run.calls]).toEqual([['list all', 'list a'], [], []])
  })

  test.each([
    [403, () => true],
    [404, (name: string | undefined) => name === undefined],
  ])('is down for all with status %d, if another scope would not help', async (statusCode, isRefused) => {
    await using run = await watching()
    run.reply = refusing(statusCode, isRefused)
    run.follow('a')
    run.follow('b')
    await run.until(() => run.calls.length === 2)
    expect(run.calls).toEqual([
      expect.stringMatching(new RegExp(`^a down: Could not list pods .*\\(${statusCode}\\)`)),
      expect.stringMatching(new RegExp(`^b down: Could not list pods .*\\(${statusCode}\\)`)),
    ])
    expect(run.lines.map(({ fields }) => fields['event'])).toEqual(['watch-down'])
  })
})

describe('a watch by name that the server refuses for good', () => {
  test.each([403, 404])('ends with status %d if all its observers do without it', async (statusCode) => {
    await using run = await watching()
    run.reply = refusing(statusCode, () => true)
    run.follow('a', true)
    run.follow('a', true)
    await run.until(() => run.calls.length === 2)
    await run.server.untilDeserted()
    expect(run.calls.map((call) => call.slice(0, 6))).toEqual(['a down', 'a down'])
    expect([run.requests, run.lines, run.clock.pendingTimers]).toEqual([['list a'], [], 0])
  })

  test('goes on if one of them needs it', async () => {
    await using run = await watching()
    run.reply = refusing(403, () => true)
    run.follow('a', true)
    run.follow('a')
    await run.until(() => run.calls.length === 2)
    run.reply = serve
    await run.until(() => run.calls.length === 6)
    expect(run.calls.slice(2)).toEqual(['a present', 'a present', 'a up', 'a up'])
  })
})
