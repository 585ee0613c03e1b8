import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { Agent, createServer as createHttpServer, get } from 'node:http'
import { createServer, Socket } from 'node:net'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { VirtualClock } from '../../../../testing/src/virtual-clock/virtual-clock.ts'
import type { WarmUp } from '../../../src/controller/controller.ts'
import type { Term } from '../../../src/term/term.ts'
import { Replica, untilEnd } from '../../support/replica.ts'

type MethodOf<T> = { [K in keyof T]: T[K] extends (...args: never[]) => unknown ? K : never }[keyof T]

/** Starts something in a term that calls `called`; the returned function makes its next call due. */
type Case = (term: Term, called: () => void) => (() => unknown) | Promise<() => unknown>

const nothing = (): void => {}

/** A way into code of the user for every method of a term that starts something: a new one does not compile without its case. */
const CASES: Record<Exclude<MethodOf<WarmUp>, 'isHeld' | 'use' | 'defer'>, Case> = {
  spawn: (term, called) => () => {
    try {
      void term.spawn('late', called)
    } catch (error) {
      expect(error).toMatchObject({ code: 'SCOPE_CLOSED' })
    }
  },
  every: (term, called) => {
    term.every(10, called).catch(nothing)
    return nothing
  },
  sleep: (term, called) => {
    term.sleep(10).then(called, nothing)
    return nothing
  },
  timeout: (term, called) => {
    term.timeout(10, called)
    return nothing
  },
  listen: (term, called) => {
    const emitter = new EventEmitter()
    term.listen(emitter, 'news', called)
    return () => emitter.emit('news')
  },
  iterate: (term, called) => {
    const item = Promise.withResolvers<IteratorResult<string>>()
    const items = [item.promise, new Promise<never>(nothing)]
    const next = () => items.shift() ?? Promise.resolve({ done: true as const, value: undefined })
    const source = { [Symbol.asyncIterator]: () => ({ next }) }
    term
      .spawn('loop', async () => {
        for await (const item of term.iterate(source)) if (item === 'news') called()
      })
      .catch(nothing)
    return () => item.resolve({ done: false, value: 'news' })
  },
  acquire: (term, called) => {
    const resource = Promise.withResolvers<string>()
    term
      .acquire('late', () => resource.promise, nothing)
      .then(called, (error: unknown) => expect(error).toBe(term.signal.reason))
    return () => resource.resolve('here')
  },
  child: async (term, called) => {
    const child = term.child('idle', () => spawn('sleep', ['60']))
    child.on('message', called)
    child.stdout.on('data', called)
    await once(child, 'spawn')
    return () => [child.emit('message', 'news'), child.stdout.emit('data', 'news')]
  },
  worker: async (term, called) => {
    const worker = term.worker('idle', () => new Worker('setInterval(() => {}, 1000)', { eval: true }))
    worker.on('message', called)
    await once(worker, 'online')
    return () => worker.emit('message', 'news')
  },
  serve: async (term, called) => {
    const server = createServer(called)
    await term.serve('idle', server, { port: 0, host: '127.0.0.1' })
    return () => server.emit('connection', new Socket())
  },
}

/** What passes unseen: the process is paused, so that its timers are late; or the machine is suspended, so that they stand still. */
const GAPS = {
  paused: (clock: VirtualClock, ms: number) => clock.stall(ms),
  suspended: (clock: VirtualClock, ms: number) => clock.suspend(ms),
}

type Kind = keyof typeof CASES
type Gap = keyof typeof GAPS

/** Leads, lets the given things call as often as they like, and tells how often they did after the term was up unseen. */
async function callsBeyondTerm(
  kinds: readonly Kind[],
  gap: Gap,
  ms: number,
): Promise<{ before: Kind[]; after: Kind[] }> {
  const calls: { kind: Kind; isOver: boolean }[] = []
  let isOver = false
  const ready = Promise.withResolvers<(() => unknown)[]>()
  const replica = await new Replica()
    .runs(async (term) => {
      if (isOver) return
      const started: (() => unknown)[] = []
      for (const kind of kinds) started.push(await CASES[kind](term, () => calls.push({ kind, isOver })))
      ready.resolve(started)
      await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }))
    })
    .start()
  const triggers = await ready.promise
  await replica.clock.advance(5)
  GAPS[gap](replica.clock, ms)
  isOver = true
  for (const trigger of triggers) trigger()
  await replica.clock.advance(90)
  const of = (over: boolean) => calls.filter((call) => call.isOver === over).map(({ kind }) => kind)
  void replica.candidacy.stop()
  await replica.clock.advance(30_000)
  return { before: of(false), after: of(true) }
}

const KINDS = Object.keys(CASES) as Kind[]
const REAL: readonly Kind[] = ['child', 'worker', 'serve']
const gaps = fc.constantFrom<Gap>('paused', 'suspended')
/** Validity is 14,250 ms after the last renewal. */
const BEYOND_TERM_MS = { min: 14_251, max: 1e8 }

describe('the door of a term that is up, though no timer has said so', () => {
  test.each(KINDS.flatMap((kind) => [['paused', kind] as const, ['suspended', kind] as const]))(
    'lets nothing through after the process or machine was %s: %s',
    async (gap, kind) => {
      const { after } = await callsBeyondTerm([kind], gap, 60_000)
      expect(after).toEqual([])
    },
  )

  test('lets nothing through, whatever comes in whatever order', async () => {
    const cheap = KINDS.filter((kind) => !REAL.includes(kind))
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(cheap, { minLength: 1 }),
        gaps,
        fc.integer(BEYOND_TERM_MS),
        async (...args) => {
          expect((await callsBeyondTerm(...args)).after).toEqual([])
        },
      ),
      { numRuns: 60 },
    )
  })

  test.each(KINDS)('lets everything through while the term lasts: %s', async (kind) => {
    const { after } = await callsBeyondTerm([kind], 'paused', 200)
    expect(after).toContain(kind)
  })

  test('lets nothing through to what a warm-up has started before the term', async () => {
    const emitter = new EventEmitter()
    let calls = 0
    const replica = await new Replica()
      .registers(
        () => ({
          name: 'janitor',
          warmUp: async (warm) => void warm.listen(emitter, 'news', () => calls++),
          run: untilEnd,
        }),
        { warmUp: 'following' },
      )
      .start()
    await replica.clock.advance(100)
    expect(replica.candidacy.state.kind).toBe('leading')
    emitter.emit('news')
    expect(calls).toBe(1)
    replica.clock.stall(60_000)
    emitter.emit('news')
    expect(calls).toBe(1)
  })

  test('refuses the requests that come over a connection of before', async () => {
    const requests: string[] = []
    const ready = Promise.withResolvers<number>()
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const ask = (port: number) =>
      new Promise<string>((resolve) => {
        const asked = get({ port, host: '127.0.0.1', agent }, (response) => {
          response.resume().once('end', () => resolve('answered'))
        })
        asked.once('error', () => resolve('refused'))
      })
    const replica = await new Replica()
      .runs(async (term) => {
        const server = createHttpServer((request, response) => {
          requests.push(request.method ?? '')
          response.end()
        })
        if (requests.length === 0) {
          await term.serve('http', server, { port: 0, host: '127.0.0.1' })
          const address = server.address()
          ready.resolve(typeof address === 'object' ? (address?.port ?? 0) : 0)
        }
        await new Promise((resolve) => term.signal.addEventListener('abort', resolve, { once: true }))
      })
      .start()
    const port = await ready.promise
    expect(await ask(port)).toBe('answered')
    replica.clock.stall(60_000)
    expect(await ask(port)).toBe('refused')
    expect(requests).toEqual(['GET'])
    agent.destroy()
  })

  test.each(['paused', 'suspended'] as const)('ends the term before a cleanup runs, when it was %s', async (gap) => {
    const seen: unknown[] = []
    const settled = Promise.withResolvers<void>()
    const replica = await new Replica()
      .runs(async (term) => {
        if (seen.length > 0) return await untilEnd(term)
        const look = () => seen.push([term.isHeld(), term.gateSignal.aborted, term.signal.aborted])
        term.defer(look)
        term.use({ [Symbol.dispose]: look })
        await settled.promise
      })
      .start()
    GAPS[gap](replica.clock, 60_000)
    settled.resolve()
    await replica.clock.advance(2000)
    expect(seen).toEqual([
      [false, true, true],
      [false, true, true],
    ])
  })

  test.each(['paused', 'suspended'] as const)(
    'builds no controller again when it was %s before a restart',
    async (gap) => {
      let builds = 0
      const replica = await new Replica()
        .registers(() => ({
          name: 'janitor',
          run: async () => {
            builds++
            throw new Error('broken')
          },
        }))
        .start()
      expect(builds).toBe(1)
      GAPS[gap](replica.clock, 60_000)
      const before = replica.all('term-over').length
      await replica.clock.advance(90)
      const isNewTerm = replica.all('term-over').length > before
      expect(builds).toBe(isNewTerm ? 2 : 1)
      expect(replica.all('term-over').slice(0, 1)).toMatchObject([{ reason: 'stalled' }].slice(0, isNewTerm ? 1 : 0))
    },
  )
})
