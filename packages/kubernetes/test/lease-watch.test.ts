import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { ServerResponse } from 'node:http'
import { LockRequestError } from '@tenure/core'
import { STORE_RESTORED_CHANNEL } from '@tenure/core/internal'
import { describe, expect, test } from 'vitest'
import { LeaseLock } from '../src/locks/lease/lease-lock.ts'
import { WatchInterruptedError } from '../src/reflector/watch-interrupted-error.ts'
import { leaseObject, LeaseServer } from './support/lease-server.ts'
import { answer, kubeConfigFor } from './support/loopback-server.ts'
import { ManualClock } from './support/manual-clock.ts'
import { type Line, recordingLogger } from './support/recording-logger.ts'
import { WatchLog } from './support/watch-log.ts'

/** A watch on a scripted server, on a clock that stands still. */
async function watching(prepare: (server: LeaseServer) => void = () => {}) {
  const server = await LeaseServer.start()
  prepare(server)
  const clock = new ManualClock()
  const kubeConfig = server.http.kubeConfig()
  const lines: Line[] = []
  const logger = recordingLogger(lines)
  const lock = new LeaseLock({ kubeConfig, name: 'janitor', namespace: 'ops', clock, random: () => 0.5, logger })
  const log = new WatchLog()
  const watch = lock.watch(log)
  return {
    server,
    clock,
    lines,
    log,
    watch,
    async [Symbol.asyncDispose]() {
      await lock.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** Advances the clock in steps until the log has that many lines. */
async function advanceUntil(clock: ManualClock, condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setImmediate(resolve))
    clock.advance(10)
  }
}

describe('the beginning of a watch', () => {
  test('reports an absent lease with the version of the list, then that it is up', async () => {
    await using run = await watching()
    expect(await run.log.until(2)).toEqual(['absent@10', 'up'])
  })

  test('reports a present lease, then that it is up', async () => {
    await using run = await watching((server) => server.put('a'))
    expect(await run.log.until(2)).toEqual(['present@11 a', 'up'])
  })

  test('watches the one lease, with bookmarks, from the version of the list, for a bounded time', async () => {
    await using run = await watching((server) => void (server.version = 17))
    await run.log.until(2)
    expect(Object.fromEntries(run.server.watches[0]?.query ?? [])).toEqual({
      fieldSelector: 'metadata.name=janitor',
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion: '17',
      timeoutSeconds: '360',
    })
  })

  test('does not call the observer before watch() has returned', async () => {
    await using server = await LeaseServer.start()
    const lock = new LeaseLock({ kubeConfig: server.http.kubeConfig(), name: 'janitor', namespace: 'ops' })
    const log = new WatchLog()
    lock.watch(log)
    expect(log.lines).toEqual([])
    await lock.close()
  })

  test.each([
    ['no items', { metadata: { resourceVersion: '5' } }],
    ['no version', { items: [] }],
    ['a lease without a version', { metadata: { resourceVersion: '5' }, items: [{ metadata: { name: 'janitor' } }] }],
  ])('takes a list with %s for a failure, not for an absent lease', async (_, list) => {
    await using run = await watching((server) => (server.onList = (response) => answer(response, 200, list)))
    expect((await run.log.until(1))[0]).toBe('down')
    expect(run.log.causes[0]).toBeInstanceOf(WatchInterruptedError)
  })

  test('ignores other leases, should the server not understand the selector', async () => {
    await using run = await watching((server) => {
      server.onList = (response) =>
        answer(response, 200, { metadata: { resourceVersion: '10' }, items: [leaseObject(9, 'x', 'other')] })
    })
    await run.log.until(2)
    run.server.send({ type: 'MODIFIED', object: leaseObject(11, 'x', 'other') }, run.server.put('a'))
    expect(await run.log.until(3)).toEqual(['absent@10', 'up', 'present@11 a'])
  })
})

describe('a watch', () => {
  test('reports changes as they happen', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.send(run.server.put('a'), run.server.put('b'))
    run.server.send(run.server.delete())
    run.server.send(run.server.put('c'))
    expect(await run.log.until(6)).toEqual([
      'absent@10',
      'up',
      'present@11 a',
      'present@12 b',
      'absent@13',
      'present@14 c',
    ])
  })

  test('understands events that are cut anywhere', async () => {
    await using run = await watching()
    await run.log.until(2)
    const bytes = Buffer.from(`${JSON.stringify(run.server.put('läufer-der-📜'))}\n`)
    const { response } = run.server.watches[0] ?? {}
    for (const byte of bytes) response?.write(Buffer.of(byte))
    expect((await run.log.until(3))[2]).toBe('present@11 läufer-der-📜')
  })

  test('resumes after the last version it has seen, bookmarks included, when the server ends the stream', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.send(run.server.put('a'), { type: 'BOOKMARK', object: { metadata: { resourceVersion: '99' } } })
    await run.log.until(3)
    run.clock.advance(1000)
    run.server.watches[0]?.response.end()
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    expect(run.server.watches[1]?.query.get('resourceVersion')).toBe('99')
    expect(run.server.lists).toBe(1)
    expect(run.log.lines).toEqual(['absent@10', 'up', 'present@11 a'])
  })

  test('lists again when the version is no longer kept, and reports what it has missed', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.put('b')
    run.server.send({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })
    expect(await run.log.until(4)).toEqual(['present@11 a', 'up', 'down', 'present@12 b'])
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    expect(run.server.watches[1]?.query.get('resourceVersion')).toBe('12')
    expect((await run.log.until(5)).at(-1)).toBe('up')
    expect(run.log.causes[0]?.message).toBe('The watch starts again from a list')
  })

  test('lists again when the version is refused with status 410', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.clock.advance(1000)
    run.server.onWatch = (response) => {
      run.server.onWatch = (next) => next.writeHead(200).flushHeaders()
      answer(response, 410, { kind: 'Status', code: 410, reason: 'Expired' })
    }
    run.server.put('b')
    run.server.watches[0]?.response.end()
    expect(await run.log.until(4)).toEqual(['absent@10', 'up', 'down', 'present@11 b'])
    expect(run.server.lists).toBe(2)
  })

  test('reports once that it is down, connects again at once, and reports that it is up', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.watches[0]?.response.destroy()
    expect(await run.log.until(4)).toEqual(['absent@10', 'up', 'down', 'up'])
    expect(run.log.causes[0]).toBeInstanceOf(LockRequestError)
  })

  test('reports one outage once however often it fails to connect, ever more rarely', async () => {
    await using run = await watching()
    await run.log.until(2)
    const attempts: number[] = []
    run.server.onWatch = (response) => {
      attempts.push(run.clock.now())
      response.destroy()
    }
    const brokenAt = run.clock.now()
    run.server.watches[0]?.response.destroy()
    await advanceUntil(run.clock, () => attempts.length === 6)
    expect(run.log.lines).toEqual(['absent@10', 'up', 'down'])
    const gaps = attempts.map((at, index) => at - (attempts[index - 1] ?? brokenAt))
    expect(gaps[1]).toBeGreaterThanOrEqual(70)
    expect(gaps[5]).toBeGreaterThanOrEqual(1200)
    run.server.onWatch = (response) => response.writeHead(200).flushHeaders()
    await advanceUntil(run.clock, () => run.log.lines.length === 4)
    expect(run.log.lines[3]).toBe('up')
  })

  test('connects at once again when it breaks after it has held for a while', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.watches[0]?.response.destroy()
    await run.log.until(4)
    run.clock.advance(1000)
    run.server.watches[1]?.response.destroy()
    const before = run.clock.now()
    expect(await run.log.until(6)).toEqual(['absent@10', 'up', 'down', 'up', 'down', 'up'])
    expect(run.clock.now()).toBe(before)
  })

  test('has one timer at any time while it is quiet, however often it has connected', async () => {
    await using run = await watching()
    await run.log.until(2)
    for (const connected of [2, 3, 4]) {
      run.clock.advance(1000)
      run.server.watches.at(-1)?.response.end()
      await advanceUntil(run.clock, () => run.server.watches.length === connected)
      run.server.send(run.server.put('a'))
      await run.log.until(1 + connected)
    }
    expect(run.clock.pendingTimers).toBe(1)
  })

  test('reports that it is down when it cannot connect in the first place', async () => {
    await using run = await watching((server) => {
      server.onList = (response) => answer(response, 403, { kind: 'Status', message: 'no' })
    })
    await run.log.until(1)
    expect(run.log.causes[0]).toMatchObject({ failure: 'forbidden' })
    expect(run.log.causes[0]?.message).toContain('must grant the verb "list"')
    run.server.onList = (response) => run.server.answerList(response)
    await advanceUntil(run.clock, () => run.log.lines.length === 3)
    expect(run.log.lines).toEqual(['down', 'absent@10', 'up'])
  })

  test('comes back no earlier than a server that throttles it asks for', async () => {
    await using run = await watching((server) => {
      server.onList = (response) => answer(response, 429, { kind: 'Status' }, { 'retry-after': '9' })
    })
    await run.log.until(1)
    run.server.onList = (response) => run.server.answerList(response)
    const downAt = run.clock.now()
    await advanceUntil(run.clock, () => run.server.lists === 2)
    expect(run.clock.now() - downAt).toBeGreaterThanOrEqual(8900)
  })

  test.each([
    [429, 1],
    [503, 2],
  ])(
    'reads the lease again after a status %d of its watch, unless the server throttles: %d reads',
    async (status, reads) => {
      await using run = await watching()
      await run.log.until(2)
      run.server.onWatch = (response) => answer(response, status, { kind: 'Status' })
      run.server.watches[0]?.response.end()
      await advanceUntil(run.clock, () => run.server.watches.length === 2)
      run.server.onWatch = (response) => response.writeHead(200).flushHeaders()
      await advanceUntil(run.clock, () => run.server.watches.length === 3)
      expect(run.server.lists).toBe(reads)
    },
  )

  test('does not ask at full speed a server that ends every stream at once', async () => {
    const openedAt: number[] = []
    await using run = await watching()
    run.server.onWatch = (response) => {
      openedAt.push(run.clock.now())
      response.writeHead(200).end()
    }
    await advanceUntil(run.clock, () => openedAt.length === 5)
    expect((openedAt[4] ?? 0) - (openedAt[0] ?? 0)).toBeGreaterThanOrEqual(400)
    expect(run.log.causes[0]?.message).toBe('The server ended the watch at once')
  })

  test.each([
    ['something that is not JSON', '{"type":\n'],
    ['something that is not an object', '17\n'],
    ['an unknown event', '{"type":"WOBBLED","object":{"metadata":{"name":"janitor","resourceVersion":"12"}}}\n'],
    ['an event without a version', '{"type":"MODIFIED","object":{"metadata":{"name":"janitor"}}}\n'],
    ['an error', '{"type":"ERROR","object":{"code":500}}\n'],
  ])('connects again after %s', async (_, line) => {
    await using run = await watching()
    await run.log.until(2)
    run.server.watches[0]?.response.write(line)
    await advanceUntil(run.clock, () => run.log.lines.length === 4)
    expect(run.log.lines).toEqual(['absent@10', 'up', 'down', 'up'])
  })

  test('shows the lease of a store that went back to an older version, and goes on from there', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.version = 3
    run.server.lease = leaseObject(3, 'restored')
    run.server.send({ type: 'ERROR', object: { code: 410 } })
    const restored = ['present@11 a', 'up', 'down', 'present@3 restored', 'up']
    expect(await run.log.until(4)).toEqual(restored.slice(0, 4))
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    run.server.put('b')
    run.server.send({ type: 'MODIFIED', object: leaseObject(4, 'b') })
    expect(await run.log.until(6)).toEqual([...restored, 'present@4 b'])
  })

  test('publishes that the store went back, once', async () => {
    const restores: unknown[] = []
    const listener = (message: unknown) => void restores.push(message)
    subscribe(STORE_RESTORED_CHANNEL, listener)
    try {
      await using run = await watching((server) => server.put('a'))
      await run.log.until(2)
      expect(restores).toEqual([])
      run.server.version = 3
      run.server.lease = leaseObject(3, 'restored')
      run.server.send({ type: 'ERROR', object: { code: 410 } })
      await run.log.until(3)
      await advanceUntil(run.clock, () => run.server.watches.length === 2)
      expect(restores).toEqual([{ namespace: 'ops', name: 'janitor' }])
    } finally {
      unsubscribe(STORE_RESTORED_CHANNEL, listener)
    }
  })

  test('finds out about such a store at once when its watch broke and is open again', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.version = 3
    run.server.lease = leaseObject(3, 'restored')
    run.server.watches[0]?.response.destroy()
    expect(await run.log.until(6)).toEqual(['present@11 a', 'up', 'down', 'up', 'down', 'present@3 restored'])
    expect(run.clock.now()).toBe(0)
  })

  test('finds out about such a store when its watch goes on in silence', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.version = 3
    run.server.lease = leaseObject(3, 'restored')
    run.clock.advance(2500)
    expect(await run.log.until(4)).toEqual(['present@11 a', 'up', 'down', 'present@3 restored'])
  })
})

describe('the log of a watch', () => {
  const where = { namespace: 'ops', lease: 'janitor' }

  test('says that it is disconnected when that begins and when the cause changes, and when it is connected again', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.clock.advance(1000)
    const refuse = (statusCode: number) => (response: ServerResponse) => answer(response, statusCode, {})
    run.server.onWatch = refuse(503)
    run.server.watches[0]?.response.end()
    await advanceUntil(run.clock, () => run.server.watches.length === 4)
    run.server.onWatch = refuse(429)
    await advanceUntil(run.clock, () => run.server.watches.length === 6)
    run.server.onWatch = (response) => response.writeHead(200).flushHeaders()
    await advanceUntil(run.clock, () => run.lines.length === 3)
    const down = (why: string) => {
      const message = `Could not watch leases.coordination.k8s.io ops/janitor: ${why}`
      const fields = { event: 'watch-down', ...where, err: expect.objectContaining({ message }) }
      return { level: 'warn', message: `the watch is disconnected: ${message}`, fields }
    }
    expect(run.lines).toEqual([
      down('the server failed (503)'),
      down('the server throttles requests (429)'),
      { level: 'info', message: 'the watch is connected again', fields: { event: 'watch-up', ...where } },
    ])
    run.server.watches.at(-1)?.response.destroy()
    await advanceUntil(run.clock, () => run.lines.length === 5)
    expect(run.lines.slice(3).map(({ fields }) => fields['event'])).toEqual(['watch-down', 'watch-up'])
  })

  test('says nothing about a version that is outdated, which is routine', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.send({ type: 'ERROR', object: { code: 410 } })
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    await run.log.until(4)
    run.clock.advance(10_000)
    expect(run.lines).toEqual([])
  })

  test('says nothing about a watch that ends as usual', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.clock.advance(1000)
    run.server.watches[0]?.response.end()
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    run.clock.advance(1000)
    expect(run.lines).toEqual([])
  })

  test('says that the store was restored when a list is older than the one before, even if the lease is not', async () => {
    await using run = await watching((server) => {
      server.put('a')
      server.version = 20
    })
    await run.log.until(2)
    run.server.version = 15
    run.server.send({ type: 'ERROR', object: { code: 410 } })
    await advanceUntil(run.clock, () => run.server.watches.length === 2)
    expect(run.lines.map(({ message }) => message)).toEqual([
      'the store is at version 15, below the known version 20, as after a restore from a backup',
    ])
  })

  test.each([
    ['is older than the last list', 15, 18, 20],
    ['is older than the last event', 99, 50, 99],
  ])('says that the store was restored when it %s', async (_, bookmark, version, known) => {
    await using run = await watching((server) => {
      server.put('a')
      server.version = 20
    })
    await run.log.until(2)
    run.server.send(
      { type: 'BOOKMARK', object: { metadata: { resourceVersion: String(bookmark) } } },
      {
        type: 'MODIFIED',
        object: leaseObject(12, 'b'),
      },
    )
    await run.log.until(3)
    run.server.version = version
    run.server.lease = leaseObject(12, 'b')
    run.clock.advance(2500)
    await advanceUntil(run.clock, () => run.lines.length > 0)
    expect(run.lines).toEqual([
      {
        level: 'warn',
        message: `the store is at version ${version}, below the known version ${known}, as after a restore from a backup`,
        fields: { event: 'store-restored', ...where },
      },
    ])
  })
})

describe('silence of a watch', () => {
  test('begins with the last that was heard: a lease that changes is not read', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    for (let renewal = 0; renewal < 6; renewal++) {
      run.clock.advance(1000)
      run.server.put('a')
      run.server.send({ type: 'MODIFIED', object: run.server.lease })
      await run.log.until(3 + renewal)
    }
    expect(run.log.lines).not.toContain('down')
    expect(run.server.lists).toBe(1)
  })

  test('is looked into once, and changes nothing when the lease has not changed', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.clock.advance(2499)
    expect(run.server.lists).toBe(1)
    run.clock.advance(1)
    await advanceUntil(run.clock, () => run.server.lists === 2)
    await advanceUntil(run.clock, () => run.server.lists === 3)
    // The next look comes after twice the time.
    expect(run.clock.now()).toBeGreaterThanOrEqual(7500)
    expect(run.server.watches).toHaveLength(1)
    expect(run.log.lines).toEqual(['present@11 a', 'up'])
  })

  test('is a dead watch when the lease has changed: it reports the change and reconnects', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.put('b')
    run.clock.advance(2500)
    expect(await run.log.until(5)).toEqual(['present@11 a', 'up', 'down', 'present@12 b', 'up'])
    await advanceUntil(run.clock, () => run.log.lines.length === 7)
    expect(run.log.lines.slice(5)).toEqual(['down', 'up'])
    expect(run.clock.now()).toBeLessThanOrEqual(4000)
    expect(run.log.causes.map(({ message }) => message)).toEqual([
      'The watch lags behind the store',
      expect.stringContaining('silent'),
    ])
    expect(run.server.watches[0]?.response.destroyed).toBe(true)
  })

  test('is a dead watch when the lease was deleted', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.delete()
    run.clock.advance(2500)
    expect(await run.log.until(5)).toEqual(['present@11 a', 'up', 'down', 'absent@12', 'up'])
    await advanceUntil(run.clock, () => run.log.lines.length === 7)
    expect(run.log.lines.slice(5)).toEqual(['down', 'up'])
  })

  test('is no dead watch when the change arrives a moment after it was read, and nothing is reported twice', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    const event = run.server.put('b')
    run.clock.advance(2500)
    await run.log.until(5)
    run.server.send(event, run.server.put('c'))
    expect(await run.log.until(6)).toEqual(['present@11 a', 'up', 'down', 'present@12 b', 'up', 'present@13 c'])
    run.clock.advance(1499)
    expect(run.server.watches).toHaveLength(1)
  })

  test('is a dead watch when nobody answers the look, within the time', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.server.onList = () => {}
    run.server.onWatch = () => {}
    run.clock.advance(2500)
    await run.server.http.untilRequests(3)
    run.clock.advance(1500)
    expect((await run.log.until(3))[2]).toBe('down')
    expect(run.clock.now()).toBe(4000)
  })

  test('of a server that does not answer the watch at all is down within the time', async () => {
    await using run = await watching((server) => (server.onWatch = () => {}))
    await run.server.http.untilRequests(2)
    run.clock.advance(4000)
    expect(await run.log.until(2)).toEqual(['absent@10', 'down'])
    expect(run.log.causes[0]?.message).toContain('4000 ms')
  })
})

describe('closing a watch', () => {
  test('ends its connections and timers', async () => {
    await using run = await watching((server) => server.put('a'))
    await run.log.until(2)
    run.clock.advance(2500)
    await run.server.http.untilRequests(3)
    await run.watch.close()
    await run.server.http.untilDeserted()
    expect(run.clock.pendingTimers).toBe(0)
  })

  test('ends a pause between two attempts', async () => {
    await using run = await watching((server) => (server.onList = (response) => response.destroy()))
    await run.log.until(1)
    while (run.clock.pendingTimers === 0) await new Promise((resolve) => setImmediate(resolve))
    await run.watch.close()
    expect(run.clock.pendingTimers).toBe(0)
  })

  test('ends an attempt that is not answered', async () => {
    await using run = await watching((server) => (server.onList = () => {}))
    await run.server.http.untilRequests(1)
    await run.watch.close()
    await run.server.http.untilDeserted()
    expect(run.clock.pendingTimers).toBe(0)
    expect(run.log.lines).toEqual([])
  })

  test('silences the observer from the moment of the call on', async () => {
    await using run = await watching()
    await run.log.until(2)
    run.server.send(run.server.put('a'))
    const closing = run.watch.close()
    await closing
    expect(run.log.lines).toEqual(['absent@10', 'up'])
  })

  test('is the same for every caller', async () => {
    await using run = await watching()
    expect(run.watch.close()).toBe(run.watch.close())
    await run.watch.close()
  })

  test('works from inside the observer', async () => {
    await using server = await LeaseServer.start()
    const lock = new LeaseLock({ kubeConfig: server.http.kubeConfig(), name: 'janitor', namespace: 'ops' })
    let changes = 0
    server.onWatch = (response) => {
      response.writeHead(200)
      response.write(
        [server.put('a'), server.put('b'), server.put('c')].map((event) => `${JSON.stringify(event)}\n`).join(''),
      )
    }
    const called = new Promise<void>((resolve) => {
      const watch = lock.watch({
        changed: () => {
          if (++changes === 2) void watch.close().then(resolve)
        },
        up: () => {},
        down: () => expect.unreachable(),
      })
    })
    await called
    await server.http.untilDeserted()
    expect(changes).toBe(2)
    await lock.close()
  })
})

test('a watch of a server that is not there is down, and refuses to start on a closed lock', async () => {
  const kubeConfig = kubeConfigFor('http://127.0.0.1:1')
  const lock = new LeaseLock({ kubeConfig, name: 'janitor', namespace: 'ops' })
  const log = new WatchLog()
  lock.watch(log)
  await log.until(1)
  expect(log.causes[0]).toMatchObject({ failure: 'unreachable' })
  await lock.close()
  expect(() => lock.watch(log)).toThrow(LockRequestError)
})
