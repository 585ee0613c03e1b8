import { spawn } from 'node:child_process'
import { createServer, type Server } from 'node:http'
import { Worker } from 'node:worker_threads'
import { createManager, type Lock, MemoryLeaseStore, OptionsError, type ProcessManager, type Term } from 'tenure'
import { describe, expect, it, vi } from 'vitest'
import { STEADY } from '../scenarios/timings.ts'

const DAY_MS = 24 * 60 * 60 * 1000

// The settings of the other attacks are not options of Tenure.
vi.stubEnv('TENURE_API_SERVER', undefined)

interface Line {
  readonly event?: unknown
  readonly err?: unknown
  readonly message: string
}

/** A whole replica in this process, on real time and leases in memory. */
function replica(run: (term: Term, manager: ProcessManager) => Promise<void>, lock?: (lock: Lock) => Lock) {
  const lines: Line[] = []
  const store = new MemoryLeaseStore()
  const write = (fields: Readonly<Record<string, unknown>>, message: string): void =>
    void lines.push({ ...fields, message })
  const logger = { debug: write, info: write, warn: write, error: write, child: () => logger }
  const manager = createManager({
    lease: { name: 'lease', ...STEADY },
    lock: ({ name }) => lock?.(store.lock(name)) ?? store.lock(name),
    ops: { port: 0, host: '127.0.0.1' },
    signals: false,
    logger,
  })
  manager.register(() => ({ name: 'janitor', run: (term: Term) => run(term, manager) }), {
    restart: { maxRestarts: 0 },
  })
  return { manager, lines }
}

/** What `run` came to, in a replica that is stopped after that. Rejects with what the replica ended with, if that is an error. */
async function inTerm<T>(work: (term: Term, manager: ProcessManager) => T | Promise<T>): Promise<T> {
  const outcome = Promise.withResolvers<T>()
  const { manager } = replica(async (term) => {
    try {
      outcome.resolve(await work(term, manager))
    } catch (error) {
      outcome.reject(error)
    }
    await term.sleep(DAY_MS)
  })
  const running = manager.start()
  try {
    return await outcome.promise
  } finally {
    await manager.stop()
    await running
  }
}

describe.concurrent('arguments that used to break a term at its end', () => {
  it('a port that is none: `term.serve()` rejects at once, and the term ends', async () => {
    const error = await inTerm((term) =>
      term.serve('api', createServer(), { port: 99_999 }).catch((cause: unknown) => cause),
    )
    expect(error).toMatchObject({ code: 'ERR_SOCKET_BAD_PORT' })
  })

  it('a port that is none, unhandled: the failure is in the log, and the replica steps down', async () => {
    const { manager, lines } = replica(async (term) => {
      await term.serve<Server>('api', createServer(), { port: 99_999 })
    })
    const over = Promise.withResolvers<unknown>()
    manager.on((event) => event.kind === 'term-over' && over.resolve(event))
    const running = manager.start()
    expect(await over.promise).toMatchObject({ reason: 'controller-failed', outcome: 'released', drain: 'clean' })
    expect(lines.find(({ event }) => event === 'controller-failed')).toMatchObject({
      err: { code: 'ERR_SOCKET_BAD_PORT' },
    })
    await manager.stop()
    await running
  })

  it('a signal that is none, and a message that cannot be posted: refused before anything starts', async () => {
    const started: string[] = []
    const errors = await inTerm((term) => [
      thrownBy(() => term.child('c', () => start('child'), { stopSignal: 'SIGNONE' as 'SIGTERM' })),
      thrownBy(() => term.worker('w', () => start('worker'), { stopMessage: { reply: () => {} } })),
    ])
    function start(what: string): never {
      started.push(what)
      throw new Error('it was started')
    }
    expect([errors, started]).toEqual([[expect.any(OptionsError), expect.any(OptionsError)], []])
  })

  it('a signal and a message that are good still end a child and a worker', async () => {
    const exits = await inTerm((term) => {
      const child = term.child('c', () => spawn('sleep', ['1000']), { stopSignal: 'SIGINT' })
      const source = `require('node:worker_threads').parentPort.once('message', () => process.exit())`
      const worker = term.worker('w', () => new Worker(source, { eval: true }), { stopMessage: { stop: true } })
      return { child, worker }
    })
    expect([exits.child.signalCode, exits.worker.threadId]).toEqual(['SIGINT', -1])
  })

  it('times that are none are refused, and start nothing', async () => {
    const times: readonly unknown[] = [undefined, NaN, -1, Infinity, '1000', 10n, Object.create(null)]
    const errors = await inTerm((term) =>
      times.flatMap((time) =>
        (['sleep', 'every', 'timeout'] as const).map((method) =>
          thrownBy(() => term[method](time as number, () => {})),
        ),
      ),
    )
    expect(errors).toHaveLength(21)
    expect(errors.every((error) => error instanceof OptionsError)).toBe(true)
  })

  it('times beyond 24.8 days do not pass at once', async () => {
    const calls: string[] = []
    await inTerm(async (term) => {
      const asleep = term.sleep(30 * DAY_MS).then(
        () => calls.push('sleep'),
        () => {},
      )
      term.timeout(2 ** 31, () => calls.push('timeout'))
      void term.every(2 ** 40, () => calls.push('every'))
      // As many timers of a millisecond as it takes for one of those to have come.
      for (let turn = 0; turn < 50; turn++) await term.sleep(2)
      term.stepDown()
      await asleep
    })
    expect(calls).toEqual(['every'])
  })

  it('a signal of the term itself is refused as what is listened to', async () => {
    const error = await inTerm((term) => thrownBy(() => term.listen(term.signal, 'abort', () => {})))
    expect(error).toBeInstanceOf(OptionsError)
  })
})

describe.concurrent('values that have no text', () => {
  it('that a lock rejects with are failures like any other: the replica leads a little later', async () => {
    let refused = 0
    const began = Promise.withResolvers<void>()
    const { manager, lines } = replica(
      async (term) => {
        began.resolve()
        await term.sleep(DAY_MS)
      },
      (lock) =>
        new Proxy(lock, {
          get(target, key) {
            const method: unknown = Reflect.get(target, key)
            if (key === 'create' && refused++ < 2) return () => Promise.reject(Object.create(null))
            return typeof method === 'function' ? method.bind(target) : method
          },
        }),
    )
    const running = manager.start()
    await began.promise
    expect(lines.filter(({ event }) => event === 'request-failed').length).toBeGreaterThanOrEqual(2)
    await manager.stop()
    await running
  })

  it('that a health check throws are the reason that /livez gives', async () => {
    const body = await inTerm(async (term, manager) => {
      term.health.register('graph', () => {
        throw Object.assign(Object.create(null), { data: null })
      })
      const response = await fetch(`http://127.0.0.1:${manager.ops?.address?.port}/livez`)
      return `${response.status} ${await response.text()}`
    })
    expect(body).toMatch(/^500 /)
    expect(body).toContain('[-]janitor.graph failed: [Object: null prototype] { data: null }\n')
  })
})

function thrownBy(work: () => unknown): unknown {
  try {
    work()
    return undefined
  } catch (error) {
    return error
  }
}
