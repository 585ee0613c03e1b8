import { EventEmitter, getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ApiTransport } from '../src/client/api-transport.ts'
import type { ApiRequest } from '../src/client/api-request.ts'
import { watchQuery } from '../src/client/object-requests.ts'
import type { ReflectorFeed, StreamContext } from '../src/reflector/reflector-feed.ts'
import { Reflector } from '../src/reflector/reflector.ts'
import { WatchInterruptedError } from '../src/reflector/watch-interrupted-error.ts'
import { LoopbackServer } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'

const OPEN_TIMEOUT_MS = 5000

type WatchReply = (response: ServerResponse) => void

const holdOpen: WatchReply = (response) => response.writeHead(200).flushHeaders()

/** A feed that records what a reflector asks and tells it. */
class RecordingFeed implements ReflectorFeed {
  readonly lines: string[] = []
  readonly failures: Error[] = []
  /** When each failure was reported. */
  readonly failedAt: number[] = []
  version = 10
  wentBackTo: number | undefined
  stream: StreamContext | undefined
  readonly #clock: ManualClock
  readonly #emitter = new EventEmitter()

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  readonly openTimeoutMs = () => OPEN_TIMEOUT_MS

  async list() {
    const version = `${this.version}`
    return { version, accept: () => this.#write(`list@${version}`) }
  }

  watch(version: string, signal: AbortSignal): ApiRequest {
    this.#write(`watch@${version}`)
    const target = { verb: 'watch', group: '', resource: 'pods', namespace: 'ops', name: '' }
    return { method: 'GET', path: '/pods', query: { ...watchQuery({ version, spread: 0 }) }, target, signal }
  }

  async wentBack() {
    return this.wentBackTo !== undefined
  }

  opened(stream: StreamContext) {
    this.stream = stream
    this.#write(stream.isInDoubt ? 'opened in doubt' : 'opened')
    return { heard: () => {}, stop: () => this.#write('ended') }
  }

  take({ kind, version }: { readonly kind: string; readonly version: string }): void {
    this.#write(`${kind}@${version}`)
  }

  recovered(): void {
    this.#write('recovered')
  }

  readonly needsList = ({ statusCode }: { readonly statusCode: number | undefined }) => statusCode === 410

  async handles() {
    return false
  }

  failed(failure: Error): void {
    this.failures.push(failure)
    this.failedAt.push(this.#clock.now())
    this.#write('failed')
  }

  /** Resolves when the line was written so many times. */
  async until(line: string, count = 1): Promise<void> {
    while (this.lines.filter((one) => one === line).length < count) await once(this.#emitter, 'line')
  }

  #write(line: string): void {
    this.lines.push(line)
    this.#emitter.emit('line')
  }
}

/** A reflector at work on a scripted server, on a clock that stands still. */
async function reflecting(prepare: (run: { reply: WatchReply }) => void = () => {}) {
  const run: { reply: WatchReply } = { reply: holdOpen }
  prepare(run)
  const watches: ServerResponse[] = []
  const server = await LoopbackServer.start((_, response) => {
    watches.push(response)
    run.reply(response)
  })
  const clock = new ManualClock()
  const transport = new ApiTransport({ kubeConfig: server.kubeConfig(), clock })
  const feed = new RecordingFeed(clock)
  const reflector = new Reflector({ transport, clock, random: () => 0, feed })
  const stopping = new AbortController()
  const running = reflector.run(stopping.signal)
  return Object.assign(run, {
    clock,
    feed,
    server,
    transport,
    reflector,
    stopping,
    watches,
    send: (...events: readonly object[]) =>
      watches.at(-1)?.write(events.map((event) => `${JSON.stringify(event)}\n`).join('')),
    /** Waits for so many open streams. Advances the clock during the pauses before them, and only then. */
    async untilOpened(count: number) {
      while (feed.lines.filter((line) => line.startsWith('opened')).length < count) {
        await new Promise((resolve) => setImmediate(resolve))
        if (feed.lines.at(-1) === 'failed' && clock.pendingTimers > 0) clock.advance(10)
      }
    },
    async [Symbol.asyncDispose]() {
      stopping.abort(new Error('The test is over'))
      await running
      await transport.close()
      await server[Symbol.asyncDispose]()
    },
  })
}

const pod = (version: number) => ({ metadata: { name: 'a', resourceVersion: `${version}` } })
const GONE = { type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } }

describe('a reflector', () => {
  test('lists, watches from the version of the list, and hands events over in their order', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.send({ type: 'ADDED', object: pod(11) }, { type: 'MODIFIED', object: pod(12) })
    run.send({ type: 'DELETED', object: pod(13) }, { type: 'BOOKMARK', object: pod(20) })
    await run.feed.until('progress@20')
    expect(run.feed.lines).toEqual([
      'list@10',
      'watch@10',
      'opened',
      'present@11',
      'present@12',
      'gone@13',
      'progress@20',
    ])
  })

  test('resumes after the last version, bookmarks included, and reports no failure, when a healthy stream ends', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.send({ type: 'BOOKMARK', object: pod(20) })
    await run.feed.until('progress@20')
    run.clock.advance(1000)
    run.watches[0]?.end()
    await run.feed.until('opened', 2)
    expect(run.feed.lines.slice(3)).toEqual(['progress@20', 'ended', 'watch@20', 'opened'])
  })

  test('aborts the signal of a stream that has ended, and leaves no listener behind', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    const { stream } = run.feed
    expect(stream?.signal.aborted).toBe(false)
    run.clock.advance(1000)
    run.watches[0]?.end()
    await run.feed.until('opened', 2)
    expect(stream?.signal.aborted).toBe(true)
    expect(getEventListeners(run.stopping.signal, 'abort')).toHaveLength(1)
  })

  test('lists again when the server no longer keeps the version, and reports that only if it happens twice in a row', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.feed.version = 30
    run.send(GONE)
    await run.feed.until('opened', 2)
    expect(run.feed.lines.slice(3)).toEqual(['ended', 'list@30', 'watch@30', 'opened'])
    run.send(GONE)
    await run.feed.until('failed')
    expect(run.feed.failures).toMatchObject([{ statusCode: 410 }])
  })

  test('lists again after a failure when the feed finds that the store went back', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.feed.wentBackTo = run.feed.version = 3
    run.watches[0]?.destroy()
    await run.feed.until('opened', 2)
    expect(run.feed.lines.slice(3)).toEqual(['ended', 'failed', 'list@3', 'watch@3', 'opened'])
  })

  test('tells the feed that the store may have been restored, when it resumes after a failure without a list', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.watches[0]?.destroy()
    await run.feed.until('opened in doubt')
    expect(run.feed.lines.slice(3)).toEqual(['ended', 'failed', 'watch@10', 'opened in doubt'])
  })

  test('fails a watch that the server does not answer within the time of the feed, and tries again', async () => {
    await using run = await reflecting((script) => (script.reply = () => {}))
    await run.server.untilRequests(1)
    run.reply = holdOpen
    run.clock.advance(OPEN_TIMEOUT_MS - 1)
    expect(run.feed.lines).toEqual(['list@10', 'watch@10'])
    run.clock.advance(1)
    await run.feed.until('opened in doubt')
    expect(run.feed.failures).toMatchObject([{ message: 'The server did not answer the watch within 5000 ms' }])
    expect(run.clock.now()).toBe(OPEN_TIMEOUT_MS)
  })

  test('lists again when the feed asks for it, without a failure, whichever attempt is under way', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.feed.version = 40
    run.reflector.listAgain()
    await run.feed.until('watch@40')
    run.feed.version = 50
    run.reflector.listAgain()
    await run.feed.until('watch@50')
    expect(run.feed.failures).toEqual([])
  })

  test('opens no stream on a connection that was idle when the last one broke: they share a network path', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.reply = (response) => (response.req.url?.includes('watch=') ? holdOpen(response) : response.end('{}'))
    const target = { verb: 'list', group: '', resource: 'pods', namespace: 'ops', name: '' }
    await run.transport.send({ method: 'GET', path: '/pods', target, signal: new AbortController().signal })
    const idle = run.watches[1]?.req.socket
    run.watches[0]?.destroy()
    await run.feed.until('opened in doubt')
    expect(run.watches).toHaveLength(3)
    expect(run.watches[2]?.req.socket).not.toBe(idle)
  })

  test('requests no stream where its feed asks for a list meanwhile', async () => {
    await using run = await reflecting((script) => {
      script.reply = (response) => {
        script.reply = holdOpen
        response.destroy()
      }
    })
    run.feed.wentBack = async () => {
      run.feed.version = 40
      run.reflector.listAgain()
      return false
    }
    await run.untilOpened(1)
    expect(run.feed.lines).toEqual([
      'list@10',
      'watch@10',
      'failed',
      'list@40',
      'watch@40',
      expect.stringMatching(/^opened/),
    ])
  })

  test('takes no list that comes after it was stopped', async () => {
    const run = await reflecting()
    await run.feed.until('opened')
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const list = run.feed.list.bind(run.feed)
    run.feed.list = async () => {
      asked.resolve()
      await answered.promise
      return list()
    }
    run.reflector.listAgain()
    await asked.promise
    const before = run.feed.lines.length
    const ending = run[Symbol.asyncDispose]()
    answered.resolve()
    await ending
    expect(run.feed.lines.slice(before)).toEqual([])
  })

  test('hands over no event after its feed asked for a list', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.feed.version = 40
    const taken: string[] = []
    run.feed.take = ({ version }) => {
      taken.push(version)
      run.reflector.listAgain()
    }
    run.send({ type: 'ADDED', object: pod(11) }, { type: 'ADDED', object: pod(12) })
    await run.feed.until('opened', 2)
    expect(run.feed.lines.slice(3)).toEqual(['ended', 'list@40', 'watch@40', 'opened'])
    expect(taken).toEqual(['11'])
  })
})

describe('the backoff of a reflector', () => {
  test('starts again after a healthy stream, however that one ended', async () => {
    let refusals = 0
    await using run = await reflecting((script) => {
      script.reply = (response) => (++refusals > 4 ? holdOpen(response) : response.destroy())
    })
    await run.untilOpened(1)
    expect(run.clock.now()).toBe(700)
    run.clock.advance(1000)
    expect(run.feed.lines).toContain('recovered')
    const brokenAt = run.clock.now()
    run.watches.at(-1)?.destroy()
    await run.feed.until('opened in doubt', 2)
    expect(run.clock.now()).toBe(brokenAt)
  })

  test.each([
    ['ends at once', (run: { watches: ServerResponse[] }) => run.watches.at(-1)?.end(), 0],
    ['ends in less than a second', (run: { watches: ServerResponse[] }) => run.watches.at(-1)?.end(), 999],
    [
      'is dead, as its guard detects',
      (run: { feed: RecordingFeed }) => run.feed.stream?.lost(new WatchInterruptedError('silent')),
      4000,
    ],
  ])('grows when every stream %s', async (_, end, lastsMs) => {
    await using run = await reflecting()
    const pauses: number[] = []
    for (const count of [1, 2, 3, 4]) {
      const endedAt = run.clock.now()
      await run.untilOpened(count)
      pauses.push(run.clock.now() - endedAt)
      run.clock.advance(lastsMs)
      end(run)
      await run.feed.until('failed', count)
    }
    expect(pauses).toEqual([0, 0, 100, 200])
  })
})

describe('the error of a watch', () => {
  test.each([
    ['<html>504 Gateway Timeout</html>', 'a line that is not JSON: <html>504 Gateway Timeout</html>'],
    [`<html>${'x'.repeat(194)}`, `a line that is not JSON: <html>${'x'.repeat(194)}`],
    [`<html>${'x'.repeat(300)}`, `a line that is not JSON: <html>${'x'.repeat(194)}…`],
    ['17', 'a line that is not an event: 17'],
    ['{"type":"WOBBLED","object":{}}', 'an event of an unknown type: {"type":"WOBBLED","object":{}}'],
    ['{"type":"ADDED","object":{}}', 'an event without a resource version: {"type":"ADDED","object":{}}'],
    [
      '{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","metadata":{"name":"a"},"data":{"password":"c2VzYW1l"}}}',
      'an event without a resource version: {"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1",…',
    ],
    [
      '{"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1","data":{"password":"c2VzYW1l',
      'a line that is not JSON: {"type":"ADDED","object":{"kind":"Secret","apiVersion":"v1",…',
    ],
  ])('quotes the beginning of a line that is not an event, and no secret (%#)', async (line, message) => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.watches[0]?.write(`${line}\n`)
    await run.feed.until('failed')
    expect(run.feed.failures[0]).toBeInstanceOf(WatchInterruptedError)
    expect(run.feed.failures[0]?.message).toBe(`The watch sent ${message}`)
    expect(run.feed.failures[0]?.cause).toBeUndefined()
  })

  test('passes on what the server says in an ERROR event', async () => {
    await using run = await reflecting()
    await run.feed.until('opened')
    run.send({ type: 'ERROR', object: { kind: 'Status', code: 500, message: 'etcdserver: leader changed' } })
    await run.feed.until('failed')
    expect(run.feed.failures[0]?.message).toContain('etcdserver: leader changed')
  })
})
