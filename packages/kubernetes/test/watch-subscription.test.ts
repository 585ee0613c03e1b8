import * as fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import type { ObjectObserver, ObservedObject } from '../src/reflector/observed-object.ts'
import { WatchSubscription } from '../src/reflector/watch-subscription.ts'

const present = (version: bigint): ObservedObject => ({ kind: 'present', version, object: {} })
const absent = (version: bigint): ObservedObject => ({ kind: 'absent', version })

function subscribed(observer: ObjectObserver): WatchSubscription {
  return new WatchSubscription({ name: 'janitor', silenceMs: 4000, observer })
}

function recorded() {
  const calls: string[] = []
  const observer = subscribed({
    changed: ({ kind, version }) => calls.push(`${kind}@${version}`),
    up: () => calls.push('up'),
    down: (cause) => calls.push(`down: ${cause.message}`),
  })
  return { calls, observer }
}

describe('a subscription of a watch', () => {
  test('reports versions in ascending order, whatever order they come in, and ends with the newest', () => {
    const lease = fc
      .tuple(fc.boolean(), fc.bigInt(1n, 50n))
      .map(([is, version]) => (is ? present(version) : absent(version)))
    fc.assert(
      fc.property(fc.array(lease, { minLength: 1 }), (leases) => {
        const seen: ObservedObject[] = []
        const observer = subscribed({
          changed: (next) => seen.push(next),
          up: () => {},
          down: () => {},
        })
        for (const next of leases) observer.streamed(next)
        const versions = seen.map(({ version }) => version)
        expect(versions).toEqual([...new Set(versions)].sort((a, b) => (a < b ? -1 : 1)))
        const presentVersions = leases.flatMap(({ kind, version }) => (kind === 'present' ? [version] : []))
        for (const version of presentVersions) expect(versions.at(-1)).toBeGreaterThanOrEqual(version)
      }),
    )
  })

  test('reports what a poll saw before the stream does once', () => {
    const { calls, observer } = recorded()
    observer.polled(present(7n))
    expect(observer.isBehind).toBe(true)
    observer.streamed(present(7n))
    expect(observer.isBehind).toBe(false)
    expect(calls).toEqual(['present@7'])
  })

  test('says that changes were skipped when a poll shows more than the stream, and when the stream starts again from a list', () => {
    const { calls, observer } = recorded()
    observer.listed(present(5n))
    observer.up()
    observer.polled(present(5n))
    observer.polled(present(7n))
    observer.listed(present(9n))
    observer.up()
    expect(calls).toEqual([
      'present@5',
      'up',
      'down: The watch lags behind the store',
      'present@7',
      'up',
      'down: The watch starts again from a list',
      'present@9',
      'up',
    ])
  })

  test('stays down when a poll or a list shows something meanwhile', () => {
    const { calls, observer } = recorded()
    observer.down(new Error('lost'))
    observer.polled(present(7n))
    observer.listed(present(9n))
    expect(calls).toEqual(['down: lost', 'present@7', 'present@9'])
  })

  test('knows the newest version that a stream or a poll has shown', () => {
    const { observer } = recorded()
    expect([observer.newest, observer.isBehind]).toEqual([0n, false])
    observer.polled(present(7n))
    expect(observer.newest).toBe(7n)
    observer.streamed(present(9n))
    expect([observer.newest, observer.isBehind]).toEqual([9n, false])
    observer.polled(absent(8n))
    expect([observer.newest, observer.isBehind]).toEqual([9n, false])
    observer.polled(present(10n))
    expect([observer.newest, observer.isBehind]).toEqual([10n, true])
    observer.restored()
    expect([observer.newest, observer.isBehind]).toEqual([0n, false])
  })

  test('starts again from a lower version after the store went back', () => {
    const { calls, observer } = recorded()
    observer.streamed(present(7n))
    observer.restored()
    observer.streamed(present(3n))
    observer.streamed(absent(5n))
    observer.restored()
    observer.streamed(absent(4n))
    expect(calls).toEqual(['present@7', 'present@3', 'absent@5', 'absent@4'])
  })

  test('does not report that an absent lease is still absent', () => {
    const { calls, observer } = recorded()
    for (const lease of [absent(1n), absent(5n), present(7n), absent(9n), absent(11n)]) observer.streamed(lease)
    expect(calls).toEqual(['absent@1', 'present@7', 'absent@9'])
  })

  test('does not report a deletion that is older than the present lease', () => {
    const { calls, observer } = recorded()
    for (const lease of [present(7n), absent(6n), present(7n)]) observer.streamed(lease)
    expect(calls).toEqual(['present@7'])
  })

  test('reports each outage once, with its first cause', () => {
    const { calls, observer } = recorded()
    observer.down(new Error('refused'))
    observer.down(new Error('refused again'))
    observer.up()
    observer.up()
    observer.down(new Error('reset'))
    expect(calls).toEqual(['down: refused', 'up', 'down: reset'])
  })

  test('reports nothing after it was closed', () => {
    const { calls, observer } = recorded()
    observer.close()
    observer.streamed(present(1n))
    observer.up()
    observer.down(new Error('late'))
    expect(calls).toEqual([])
  })

  test('lets an exception of the observer surface as uncaught, and goes on', () => {
    const microtasks: (() => void)[] = []
    vi.spyOn(globalThis, 'queueMicrotask').mockImplementation((microtask) => void microtasks.push(microtask))
    const error = new Error('bug in the observer')
    let calls = 0
    const observer = subscribed({
      changed: () => {
        calls++
        throw error
      },
      up: () => {},
      down: () => {},
    })
    observer.streamed(present(1n))
    observer.streamed(present(2n))
    vi.restoreAllMocks()
    expect(calls).toBe(2)
    expect(microtasks).toHaveLength(2)
    expect(microtasks[0]).toThrow(error)
  })
})
