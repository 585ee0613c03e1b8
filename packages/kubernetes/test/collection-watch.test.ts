import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { CollectionWatch } from '../src/reflector/collection-watch.ts'
import { ScriptedConnection, neverAnswered, refusal } from './support/scripted-connection.ts'

const SILENCE_MS = 4000
const LONGEST_MS = 510_000
const PATH = '/api/v1/namespaces/ops/pods'

const pod = (name: string, version: number) => ({ metadata: { name, resourceVersion: String(version) } })
const podList = (version: number, ...items: readonly object[]) => ({
  metadata: { resourceVersion: `${version}` },
  items,
})

/** A watch at work on a scripted connection, with its log. */
function watching(prepare: (connection: ScriptedConnection) => void = () => {}) {
  const clock = new VirtualClock()
  const connection = new ScriptedConnection()
  const server = { list: podList(10, pod('a', 5)) }
  connection.onSend = () => server.list
  prepare(connection)
  const lines: string[] = []
  const seen: unknown[] = []
  const stopping = new AbortController()
  const watch = new CollectionWatch({
    connection,
    clock,
    random: () => 0.5,
    selection: { group: '', version: 'v1', resource: 'pods', namespace: 'ops', labelSelector: 'app=web' },
    silenceMs: SILENCE_MS,
    observer: {
      listed: (objects, version) => lines.push(`listed ${[...objects.keys()].join(',')}@${version}`),
      changed: (name, state) => {
        seen.push(state)
        lines.push(`${name} ${state.kind}@${state.version}`)
      },
      up: () => lines.push('up'),
      down: ({ message }) => lines.push(`down: ${message}`),
    },
  })
  const running = watch.run(stopping.signal)
  return {
    clock,
    connection,
    server,
    lines,
    seen,
    watch,
    /** What was logged from now on, until some time has passed. */
    during: async (ms: number) => {
      const before = lines.length
      await clock.advance(ms)
      return lines.slice(before)
    },
    get stream() {
      const stream = connection.streams.at(-1)
      if (stream === undefined) throw new Error('No stream was opened')
      return stream
    },
    stop: async () => {
      stopping.abort()
      await running
    },
  }
}

const silent = `down: Something changed but the watch was silent for ${SILENCE_MS} ms`

describe('the watch of a collection', () => {
  test('lists the selection, and watches it from the version of the list', async () => {
    const { clock, connection, lines, stop } = watching()
    await clock.advance(0)
    const target = { group: '', resource: 'pods', namespace: 'ops', name: '' }
    const signal = expect.any(AbortSignal)
    expect(connection.sent).toEqual([
      { method: 'GET', path: PATH, query: { labelSelector: 'app=web' }, target: { verb: 'list', ...target }, signal },
    ])
    expect(connection.streams.map(({ request }) => request)).toEqual([
      {
        method: 'GET',
        path: PATH,
        query: {
          labelSelector: 'app=web',
          watch: 'true',
          allowWatchBookmarks: 'true',
          resourceVersion: '10',
          timeoutSeconds: '360',
        },
        target: { verb: 'watch', ...target },
        signal,
      },
    ])
    expect(lines).toEqual(['listed a@10', 'up'])
    await stop()
    expect(connection.streams[0]?.isClosed).toBe(true)
    expect(clock.pendingTimers).toBe(0)
  })

  test('reports changes of named objects as they come', async () => {
    const run = watching()
    await run.clock.advance(0)
    run.stream.send(['ADDED', pod('b', 11)], ['BOOKMARK', pod('b', 12)], ['DELETED', pod('b', 13)])
    run.stream.send(['ADDED', { metadata: { resourceVersion: '14' } }])
    expect(run.seen).toEqual([
      { kind: 'present', version: 11n, object: pod('b', 11) },
      { kind: 'absent', version: 13n, deleted: pod('b', 13) },
    ])
    expect(run.lines.slice(2)).toEqual(['b present@11', 'b absent@13'])
    await run.stop()
  })

  test('lists again after a lost connection, so that a store that went back is seen as it is', async () => {
    const run = watching()
    await run.clock.advance(2000)
    run.server.list = podList(3, pod('z', 2))
    run.stream.fail(new Error('reset'))
    expect(await run.during(0)).toEqual(['down: reset', 'listed z@3', 'up'])
    run.stream.send(['ADDED', pod('y', 4)])
    expect(run.lines.at(-1)).toBe('y present@4')
    await run.stop()
  })

  test('connects again without a list when the server ends a watch that has lasted', async () => {
    const run = watching()
    await run.clock.advance(2000)
    run.stream.send(['BOOKMARK', pod('b', 12)])
    run.stream.end()
    expect(await run.during(0)).toEqual(['up'])
    expect(run.connection.sent).toHaveLength(1)
    expect(run.stream.request.query?.['resourceVersion']).toBe('12')
    await run.stop()
  })

  test('ends a watch whose versions are no numbers', async () => {
    const run = watching()
    await run.clock.advance(2000)
    run.stream.send(['ADDED', { metadata: { name: 'b', resourceVersion: 'v1' } }])
    expect(await run.during(0)).toEqual([
      'down: The watch sent an event whose resource version is not a decimal number: v1',
      'listed a@10',
      'up',
    ])
    await run.stop()
  })

  test.each([403, 429, 500])('reports a status %d, and lists again', async (statusCode) => {
    const run = watching()
    run.connection.onOpen = ({ target }) => {
      run.connection.onOpen = () => undefined
      throw refusal(target, statusCode)
    }
    expect(await run.during(0)).toEqual([
      'listed a@10',
      expect.stringMatching(`^down: .*${statusCode}`),
      'listed a@10',
      'up',
    ])
    await run.stop()
  })

  test('comes back no earlier than the server asks for, also where a write should show up', async () => {
    const run = watching()
    run.connection.onOpen = ({ target }) => {
      run.connection.onOpen = () => undefined
      throw refusal(target, 429, { 'retry-after': '9' })
    }
    await run.during(0)
    run.watch.expect(11n)
    expect(await run.during(8000)).toEqual([])
    expect(await run.during(1000)).toContain('up')
    await run.stop()
  })

  test('gives the server as long to answer as a watch may be silent', async () => {
    const run = watching()
    run.connection.onOpen = neverAnswered
    expect(await run.during(SILENCE_MS - 1)).toEqual(['listed a@10'])
    expect(await run.during(1)).toContain(`down: The server did not answer the watch within ${SILENCE_MS} ms`)
    await run.stop()
    const other = watching((connection) => (connection.onSend = neverAnswered))
    expect(await other.during(SILENCE_MS - 1)).toEqual([])
    expect(await other.during(1)).toEqual([`down: No answer within ${SILENCE_MS} ms`])
    await other.stop()
  })

  test('takes a watch for dead that the server does not end in time', async () => {
    const run = watching()
    expect(await run.during(LONGEST_MS - 1)).toEqual(['listed a@10', 'up'])
    expect(await run.during(1)).toEqual(['down: The server did not end the watch in time', 'listed a@10', 'up'])
    await run.stop()
  })
})

describe('a write of this process', () => {
  test('that the watch does not show in time means that the watch is dead', async () => {
    const run = watching()
    await run.clock.advance(1000)
    run.watch.expect(11n)
    expect(await run.during(SILENCE_MS - 1)).toEqual([])
    expect(await run.during(1)).toEqual([silent, 'listed a@10', 'up'])
    await run.stop()
  })

  test.each([
    ['an event', ['MODIFIED', pod('a', 11)]],
    ['a bookmark', ['BOOKMARK', pod('a', 12)]],
  ] as const)('is seen with %s', async (_, event) => {
    const run = watching()
    await run.clock.advance(1000)
    run.watch.expect(11n)
    await run.clock.advance(SILENCE_MS - 1)
    run.stream.send(event)
    await run.clock.advance(2 * SILENCE_MS)
    expect(run.lines.filter((line) => line.startsWith('down'))).toEqual([])
    await run.stop()
  })

  test('needs no time if the watch or the list has shown it', async () => {
    const run = watching()
    await run.clock.advance(1000)
    run.watch.expect(10n)
    run.stream.send(['MODIFIED', pod('a', 12)])
    run.watch.expect(11n)
    run.watch.expect(12n)
    // That of the stream.
    expect(run.clock.pendingTimers).toBe(1)
    await run.stop()
  })

  test('has its own time, although an earlier one is awaited when it is made', async () => {
    const run = watching()
    await run.clock.advance(1000)
    run.watch.expect(11n)
    await run.clock.advance(2000)
    run.watch.expect(12n)
    run.watch.expect(10n)
    run.stream.send(['MODIFIED', pod('a', 11)])
    expect(await run.during(2000 + SILENCE_MS - 1)).toEqual([])
    expect(await run.during(1)).toEqual([silent, 'listed a@10', 'up'])
    await run.stop()
  })

  test('is no longer awaited when the stream has ended: the next list shows it, or the store went back', async () => {
    const run = watching()
    await run.clock.advance(1000)
    run.watch.expect(11n)
    run.stream.fail(new Error('reset'))
    await run.clock.advance(0)
    expect(run.lines.slice(2)).toEqual(['down: reset', 'listed a@10', 'up'])
    run.watch.expect(9n)
    await run.clock.advance(5000)
    expect(run.clock.pendingTimers).toBe(1)
    expect(run.lines.slice(5)).toEqual([])
    await run.stop()
  })

  test('ends the pause before the next attempt to connect', async () => {
    const run = watching((connection) => {
      connection.onSend = () => {
        throw new Error('refused')
      }
    })
    await run.clock.advance(10_000)
    const attempts = run.connection.sent.length
    const inPause = run.clock.pendingTimers
    run.watch.expect(11n)
    await run.clock.advance(0)
    expect(run.connection.sent).toHaveLength(attempts + 1)
    expect(run.clock.pendingTimers).toBe(inPause)
    await run.stop()
  })
})

describe('a refresh', () => {
  test('reports what a consistent read shows, within the time of silence', async () => {
    const run = watching()
    await run.clock.advance(1000)
    run.server.list = podList(20, pod('b', 19))
    await run.watch.refresh(new AbortController().signal)
    expect(run.lines.slice(2)).toEqual(['listed b@20'])
    run.connection.onSend = neverAnswered
    const late = expect(run.watch.refresh(new AbortController().signal)).rejects.toThrow(`within ${SILENCE_MS} ms`)
    await run.clock.advance(SILENCE_MS)
    await late
    await run.stop()
  })

  test('does not report an answer that a later one has overtaken', async () => {
    const run = watching()
    await run.clock.advance(1000)
    const first = Promise.withResolvers<object>()
    run.connection.onSend = () => first.promise
    const overtaken = run.watch.refresh(new AbortController().signal)
    run.connection.onSend = () => podList(21)
    await run.watch.refresh(new AbortController().signal)
    first.resolve(podList(20))
    await overtaken
    expect(run.lines.slice(2)).toEqual(['listed @21'])
    await run.stop()
  })

  test('reports nothing after its signal was aborted', async () => {
    const run = watching()
    await run.clock.advance(1000)
    const stopping = new AbortController()
    const answer = Promise.withResolvers<object>()
    run.connection.onSend = () => answer.promise
    const refreshing = run.watch.refresh(stopping.signal)
    stopping.abort(new Error('too late'))
    answer.resolve(podList(20))
    await expect(refreshing).rejects.toThrow('too late')
    expect(run.lines).toHaveLength(2)
    await run.stop()
  })
})
