import asyncHooks, { type AsyncHook } from 'node:async_hooks'
import { generateKeyPairSync, pbkdf2, subtle } from 'node:crypto'
import { Channel, channel } from 'node:diagnostics_channel'
import cluster from 'node:cluster'
import { EventEmitter, getEventListeners, setMaxListeners } from 'node:events'
import fs, { Dir } from 'node:fs'
import fsPromises from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { connect, Server } from 'node:net'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import tls from 'node:tls'
import { createTracing } from 'node:trace_events'
import util, { promisify } from 'node:util'
import { HealthProbe, HealthRegistry, Manager, OptionsError } from '@tenure/core'
import { TaskScope } from '@tenure/core/internal'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { leakFree, LeakError, watchForLeaks } from '../../src/leaks/index.ts'
import { LEAK_KINDS } from '../../src/leaks/leak-kind.ts'

const GRACE_MS = 30

async function messageOf(check: Promise<void>): Promise<string> {
  return check.then(
    () => 'no leak',
    (error: unknown) => (error as Error).message,
  )
}

/** Every property of everything that the detector patches. */
function patchable(): readonly (readonly [object, string])[] {
  const channels = [Channel.prototype, Object.getPrototypeOf(channel('never'))] as object[]
  const hook = Object.getPrototypeOf(asyncHooks.createHook({})) as AsyncHook
  const owners = [
    globalThis,
    process,
    EventEmitter,
    EventEmitter.prototype,
    EventTarget.prototype,
    AbortSignal,
    fs,
    fsPromises,
    Dir.prototype,
    Server.prototype,
    PerformanceObserver.prototype,
    Object.getPrototypeOf(monitorEventLoopDelay()) as object,
    hook,
    ...channels,
    HealthProbe.prototype,
    HealthRegistry.prototype,
    Manager.prototype,
    TaskScope.prototype,
    asyncHooks,
    Error,
    process.report,
    http,
    http.globalAgent,
    https,
    https.globalAgent,
    tls,
    util,
    Buffer,
    cluster,
    Object.getPrototypeOf(createTracing({ categories: ['node'] })) as object,
  ]
  return owners.flatMap((owner) => Object.getOwnPropertyNames(owner).map((name) => [owner, name] as const))
}

function snapshot(): readonly (PropertyDescriptor | undefined)[] {
  return patchable().map(([owner, name]) => Object.getOwnPropertyDescriptor(owner, name))
}

/** The same functions and values, not merely equal ones. */
function areSame(a: PropertyDescriptor = {}, b: PropertyDescriptor = {}): boolean {
  const keys = Reflect.ownKeys({ ...a, ...b })
  return keys.every((key) => Object.is(Reflect.get(a, key), Reflect.get(b, key)))
}

function addMethod(): unknown {
  return Reflect.get(EventTarget.prototype, 'addEventListener')
}

afterEach(() => void vi.useRealTimers())

describe('a watch', () => {
  it('puts everything back exactly as it was', async () => {
    const before = snapshot()
    const leaks = watchForLeaks()
    expect(snapshot().filter((descriptor, index) => !areSame(descriptor, before[index]))).not.toHaveLength(0)
    await leaks.assertNone()
    const after = snapshot()
    expect(after).toHaveLength(before.length)
    const names = patchable().map(([, name]) => name)
    expect(names.filter((_name, index) => !areSame(after[index], before[index]))).toEqual([])
  })

  it('leaves the prototypes of the global object as they were', () => {
    const prototypesOf = (object: object | null): readonly object[] =>
      object === null ? [] : [object, ...prototypesOf(Object.getPrototypeOf(object) as object | null)]
    const before = prototypesOf(globalThis)
    const leaks = watchForLeaks()
    expect(globalThis instanceof Object).toBe(true)
    leaks.end()
    expect(prototypesOf(globalThis)).toEqual(before)
  })

  it('keeps the value of a setting that was changed while it watched, as a plain property', () => {
    const before = Object.getOwnPropertyDescriptors(tls)
    const leaks = watchForLeaks()
    tls.DEFAULT_MIN_VERSION = 'TLSv1.3'
    leaks.end()
    const after = Object.getOwnPropertyDescriptors(tls)
    tls.DEFAULT_MIN_VERSION = before.DEFAULT_MIN_VERSION.value ?? 'TLSv1.2'
    expect(after).toEqual({ ...before, DEFAULT_MIN_VERSION: { ...before.DEFAULT_MIN_VERSION, value: 'TLSv1.3' } })
  })

  it('adds no property for a setting that is never assigned', () => {
    const leaks = watchForLeaks()
    expect(Reflect.get(process, 'noDeprecation')).toBeUndefined()
    leaks.end()
    expect('noDeprecation' in process).toBe(false)
  })

  it('keeps the patches in place until the last of several watches ends', async () => {
    const original = addMethod()
    const outer = watchForLeaks()
    const inner = watchForLeaks()
    outer.end()
    expect(addMethod()).not.toBe(original)
    await inner.assertNone()
    expect(addMethod()).toBe(original)
  })

  it('keeps a replacement that other code installed since', () => {
    const leaks = watchForLeaks()
    const spy = vi.spyOn(EventTarget.prototype, 'addEventListener')
    leaks.end()
    expect(vi.isMockFunction(addMethod())).toBe(true)
    spy.mockRestore()
  })

  it('does not count what was there before it began', async () => {
    const timer = setInterval(() => {}, 60_000)
    await watchForLeaks().assertNone()
    clearInterval(timer)
  })

  it('counts what a nested watch has found as well', async () => {
    const outer = watchForLeaks({ graceMs: GRACE_MS })
    const inner = watchForLeaks({ graceMs: GRACE_MS })
    const timer = setInterval(() => {}, 60_000)
    expect((await inner.find()).map(({ kind }) => kind)).toEqual(['interval'])
    inner.end()
    expect(await messageOf(outer.assertNone())).toContain('interval')
    clearInterval(timer)
  })

  it('does not throw again what a nested watch has thrown, but throws what was left since', async () => {
    const outer = watchForLeaks({ graceMs: GRACE_MS })
    const inner = watchForLeaks({ graceMs: GRACE_MS })
    const timer = setInterval(() => {}, 60_000)
    process.env['LEAKED'] = 'yes'
    expect(await messageOf(inner.assertNone())).toMatch(/^2 leaks/)
    const other = setTimeout(() => {}, 60_000)
    const message = await messageOf(outer.assertNone())
    clearInterval(timer)
    clearTimeout(other)
    delete process.env['LEAKED']
    expect(message).toMatch(/^1 leak, .*\s+1\. timeout/)
  })

  it('does not throw again a loop that a nested watch has thrown', async () => {
    const outer = watchForLeaks({ graceMs: GRACE_MS })
    const inner = watchForLeaks({ graceMs: GRACE_MS })
    let timer: NodeJS.Timeout | undefined
    const next = () => (timer = setTimeout(next, 1))
    next()
    expect(await messageOf(inner.assertNone())).toMatch(/timeout .*created again \d+ times during the grace/)
    await outer.assertNone()
    clearTimeout(timer)
  })

  it('counts jobs of node:crypto that go on, and none that was done at once', async () => {
    const key = await subtle.importKey('raw', new Uint8Array(8), 'PBKDF2', false, ['deriveBits'])
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const iterations = 2_000_000
    const jobs = Promise.all([
      promisify(pbkdf2)('password', 'salt', iterations, 32, 'sha256'),
      subtle.deriveBits({ name: 'PBKDF2', hash: 'SHA-256', salt: new Uint8Array(8), iterations }, key, 256),
    ])
    generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const found = await leaks.find()
    expect(found.map(({ kind, detail }) => ({ kind, detail }))).toEqual(
      ['`PBKDF2REQUEST`', '`PBKDF2REQUEST`'].map((detail) => ({ kind: 'request', detail })),
    )
    await jobs
    await leaks.assertNone()
  })

  it('does not count a listener on an emitter of the test itself', async () => {
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const emitter = new EventEmitter()
    const abort = new AbortController()
    emitter.on('tick', () => {})
    abort.signal.addEventListener('abort', () => {})
    await leaks.assertNone()
    expect([emitter.listenerCount('tick'), abort.signal.aborted]).toEqual([1, false])
  })

  it('sees what functions do that were imported before it began', async () => {
    const server = new Server().listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const address = server.address()
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const socket = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1')
    expect(await messageOf(leaks.assertNone())).toContain('TCP socket')
    socket.destroy()
    server.close()
  })

  it('sees a file that was opened by a function taken before it began', async () => {
    const { openSync } = fs
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const fd = openSync(import.meta.filename, 'r')
    expect(await messageOf(leaks.assertNone())).toContain('watching.test.ts')
    fs.closeSync(fd)
  })

  it('does not count a handler of a signal that was set to null', async () => {
    const [fresh, used] = [new AbortController().signal, new AbortController().signal]
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    Reflect.set(fresh, 'onabort', null)
    Reflect.set(used, 'onabort', () => {})
    Reflect.set(used, 'onabort', () => {})
    expect((await leaks.find()).map(({ kind, count }) => [kind, count])).toEqual([['abort-listener', 1]])
    Reflect.set(used, 'onabort', null)
    await leaks.assertNone()
  })

  it('waits for cleanup that is under way', async () => {
    const leaks = watchForLeaks()
    setTimeout(() => {}, 30)
    const start = performance.now()
    await leaks.assertNone()
    expect(performance.now() - start).toBeLessThan(1000)
  })

  it('waits with real time when the test has put timers of its own in place', async () => {
    vi.useFakeTimers()
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const listener = () => {}
    process.on('warning', listener)
    expect(await messageOf(leaks.assertNone())).toContain('listener on `process`')
    process.off('warning', listener)
  })

  it('keeps thousands of listeners on one signal apart', async () => {
    const root = new AbortController()
    setMaxListeners(0, root.signal)
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const listeners = Array.from({ length: 5000 }, (_, index) => () => index)
    for (const listener of listeners) root.signal.addEventListener('abort', listener)
    const [leak] = await leaks.find()
    for (const listener of listeners) root.signal.removeEventListener('abort', listener)
    await leaks.assertNone()
    expect(leak).toMatchObject({ kind: 'abort-listener', count: 5000 })
    expect(root.signal.aborted).toBe(false)
  })

  it('sees listeners that Node forgets to remove when the signal that they were added with aborts', async () => {
    const target = new EventTarget()
    setMaxListeners(0, target)
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const scope = new AbortController()
    for (let index = 0; index < 10; index++) target.addEventListener('tick', () => index, { signal: scope.signal })
    await leaks.find()
    scope.abort()
    const left = getEventListeners(target, 'tick').length
    const found = await leaks.find()
    leaks.end()
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(left)
  })

  it('names the objects that should have been collected', async () => {
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const cache = new Map<string, string>()
    leaks.expectCollected(cache, 'the cache of the janitor')
    leaks.expectCollected({ garbage: true }, 'garbage')
    const [leak, ...others] = await leaks.find()
    leaks.end()
    expect(leak).toMatchObject({ kind: 'kept-object', detail: 'the cache of the janitor', siteKind: 'creation' })
    expect(leak?.site).toMatch(/watching\.test\.ts:\d+:\d+$/)
    expect(others).toEqual([])
    expect(cache.size).toBe(0)
  })
})

describe('the report', () => {
  it('names the kind, the place, the fix, and what keeps the process alive in the words of why-is-node-running', async () => {
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const timer = setInterval(() => {}, 60_000)
    const message = await messageOf(leaks.assertNone())
    clearInterval(timer)
    expect(message).toMatch(/^1 leak, still there after \d+ ms:/)
    expect(message).toContain('1. interval (60000 ms) [interval]')
    expect(message).toMatch(/created at packages\/testing\/test\/leaks\/watching\.test\.ts:\d+:\d+/)
    expect(message).toContain('fix: `clearInterval()`')
    expect(message).toContain('There are 1 handle(s) keeping the process running.')
    expect(message).toMatch(
      /# Timeout\n\s+packages\/testing\/test\/leaks\/watching\.test\.ts:\d+ - const timer = setInterval/,
    )
  })

  it('repeats for a later watch what keeps the process alive then', async () => {
    const first = setInterval(() => {}, 60_000)
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const second = setInterval(() => {}, 60_000)
    const message = await messageOf(leaks.assertNone())
    clearInterval(first)
    clearInterval(second)
    expect(message).toContain('const second = setInterval')
    expect(message).not.toContain('const first = setInterval')
  })

  it('says nothing about the process where nothing keeps it alive', async () => {
    const leaks = watchForLeaks({ graceMs: GRACE_MS })
    const timer = setInterval(() => {}, 60_000).unref()
    const message = await messageOf(leaks.assertNone())
    clearInterval(timer)
    expect(message).toContain("unref'd")
    expect(message).not.toContain('why-is-node-running')
  })
})

describe('ignore lists', () => {
  const plant = () => setInterval(() => {}, 60_000)

  it.each([
    ['kind', { kinds: ['interval' as const] }],
    ['a part of its place', { sites: ['watching.test.ts'] }],
    ['an expression for its place', { sites: [/plant .*watching\.test/] }],
  ])('leave out a leak by %s', async (_name, ignore) => {
    const leaks = watchForLeaks({ ignore })
    const timer = plant()
    await leaks.assertNone()
    clearInterval(timer)
  })

  it('leave in what they do not name', async () => {
    const leaks = watchForLeaks({ graceMs: GRACE_MS, ignore: { kinds: ['timeout'], sites: ['somewhere-else.ts'] } })
    const timer = plant()
    await expect(leaks.assertNone()).rejects.toBeInstanceOf(LeakError)
    clearInterval(timer)
  })
})

describe('leakFree()', () => {
  it('fails with the leak of its body', async () => {
    let timer: NodeJS.Timeout | undefined
    const body = leakFree(() => void (timer = setInterval(() => {}, 60_000)), { graceMs: GRACE_MS })
    await expect(body()).rejects.toBeInstanceOf(LeakError)
    clearInterval(timer)
  })

  it('hands arguments in and failures out', async () => {
    const body = leakFree((text: string) => Promise.reject(new Error(text)))
    await expect(body('broken')).rejects.toThrow('broken')
  })
})

describe('bad input of watchForLeaks()', () => {
  it.each([
    [{ grace: 5 }, 'Unknown option `grace` in `watchForLeaks()`'],
    [{ graceMs: Number.NaN }, 'Expected `graceMs` to be a number of at least 0, got `NaN`'],
    [{ ignore: { kind: ['timeout'] } }, 'Unknown option `kind` in `ignore`; did you mean `kinds`?'],
    [{ ignore: { kinds: ['timeuot'] } }, 'Unknown option `timeuot` in `ignore.kinds`; did you mean `timeout`?'],
    [{ ignore: { sites: [''] } }, 'Expected `ignore.sites` to be a list of texts'],
    [{ retained: 'yes' }, 'Expected `retained` to be true or false, got `yes`'],
  ])('refuses %j', (options, message) => {
    expect(() => watchForLeaks(options as never)).toThrow(OptionsError)
    expect(() => watchForLeaks(options as never)).toThrow(message)
  })

  it('knows every kind by its name', () => {
    expect(LEAK_KINDS.length).toBeGreaterThanOrEqual(20)
    watchForLeaks({ ignore: { kinds: LEAK_KINDS } }).end()
  })
})
