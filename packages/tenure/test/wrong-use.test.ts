import { Counter, register } from 'prom-client'
import { Manager } from '@tenure/core'
import {
  Controller,
  createManager,
  type CreateManagerOptions,
  lead,
  loadKubeConfig,
  MemoryLeaseStore,
  OptionsError,
  type ProcessManager,
  type Term,
} from 'tenure'
import { describe, expect, it } from 'vitest'

class Janitor extends Controller {
  override readonly name = 'janitor'
  override async run(term: Term): Promise<void> {
    await term.sleep(60_000)
  }
}

interface Line {
  readonly level: string
  readonly event?: unknown
  readonly message: string
}

function recorder() {
  const lines: Line[] = []
  const write = (level: string) => (fields: object, message: string) => void lines.push({ ...fields, level, message })
  const logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  }
  return { lines, logger }
}

/** Options of a replica without a cluster, a port or signals, on a store of its own. */
function options(more: object = {}): CreateManagerOptions {
  const store = new MemoryLeaseStore()
  const basic = {
    lease: { name: 'janitor' },
    ops: false,
    signals: false,
    env: {},
    argv: [],
    logLevel: 'silent',
  } as const
  return { ...basic, lock: ({ name }) => store.lock(name), ...more }
}

const manager = (more?: object): ProcessManager => createManager(options(more))

/** What `work` came to in a term. */
async function inTerm<T>(work: (term: Term, manager: ProcessManager) => T | Promise<T>): Promise<T> {
  const outcome = Promise.withResolvers<T>()
  const own = manager()
  own.register(() => ({
    name: 'janitor',
    run: async (term: Term) => {
      await (async () => work(term, own))().then(outcome.resolve, outcome.reject)
      await term.sleep(60_000)
    },
  }))
  const running = own.start()
  try {
    return await outcome.promise
  } finally {
    await own.stop()
    await running
  }
}

/** Calls something as a program in JavaScript does. */
const untyped = (value: unknown) => value as never

const LEAD = "Write `lead({ lease: { name: 'janitor' } }, async (term) => { … })`"

describe('a wrong use', () => {
  it.each<[string, () => unknown, string]>([
    [
      'lead() without work',
      () => lead(options(), untyped(undefined)),
      `Expected \`work\` of \`lead(options, work)\` to be a function, got \`undefined\`. ${LEAD}`,
    ],
    [
      'lead() without options',
      () =>
        lead(
          untyped(async () => {}),
          untyped(undefined),
        ),
      `Expected \`options\` of \`lead(options, work)\` to be an object, got \`[AsyncFunction (anonymous)]\` (function). ${LEAD}`,
    ],
    [
      'lead() for a replica that never leads',
      () => lead({ ...options(), rollout: 'never-lead' }, async () => {}),
      'Expected `rollout` of `lead()` to let this replica lead, got `never-lead` (string). Use `createManager()` for a replica that only follows',
    ],
    [
      'a class in the place of a factory',
      () => manager().register(untyped(Janitor)),
      'got the class `Janitor`. Write `register(() => new Janitor())`',
    ],
    [
      'a class of an older kind in the place of a factory',
      () => {
        function Old() {}
        Old.prototype.run = () => {}
        manager().register(untyped(Old))
      },
      'got the class `Old`. Write `register(() => new Old())`',
    ],
    [
      'an instance in the place of a factory',
      () => manager().candidacy({ name: 'other' }).register(untyped(new Janitor())),
      "got `Janitor { name: 'janitor' }` (object). Write `register(() => new Janitor())`",
    ],
    ['no factory', () => manager().register(untyped(undefined)), 'got `undefined`. Write `register(() => new'],
    [
      'a duration that is a text',
      () => manager({ lease: { name: 'a', leaseDurationMs: '15000' } }),
      'Expected `leaseDurationMs` to be a number of milliseconds of at least 1000, got `15000` (string)',
    ],
    [
      'a duration of the lease beside it',
      () => manager({ leaseDurationMs: 15_000 }),
      'Unknown option `leaseDurationMs` in `createManager()`: it belongs in `lease`, as `lease.leaseDurationMs`',
    ],
    [
      'seconds of the lease beside it',
      () => manager({ leaseDuration: 15 }),
      'it belongs in `lease`, as `lease.leaseDurationMs`',
    ],
    ['the port beside `ops`', () => manager({ port: 80 }), 'it belongs in `ops`, as `ops.port`'],
    ['a lease that is a text', () => manager({ lease: 'x' }), 'Expected `lease` to be an object, got `x` (string)'],
    [
      '`ops` that is true',
      () => manager({ ops: true }),
      '`ops` to be an object such as `{ port: 8080 }`, or false, got `true` (boolean)',
    ],
    [
      'feature gates that are a text',
      () => manager({ featureGates: 'A=true' }),
      '`featureGates` to be an object, got `A=true` (string)',
    ],
    [
      'no options',
      () => createManager(untyped(null)),
      'Expected the options of `createManager()` to be an object, got `null`',
    ],
    [
      '`events` that is a text',
      () => manager({ lock: undefined, events: 'no' }),
      'Expected `events` to be true or false, got `no` (string)',
    ],
    [
      '`signals` that is a text',
      () => manager({ signals: 'no' }),
      'Expected `signals` to be true or false, got `no` (string)',
    ],
    [
      '`proveDeath` that is a text',
      () => manager({ lock: undefined, lease: { name: 'a', proveDeath: 'no' } }),
      'Expected `lease.proveDeath` to be true or false, got `no` (string)',
    ],
    [
      '`needsLeadership` that is a text',
      () => manager().register(() => new Janitor(), untyped({ needsLeadership: 'no' })),
      'Expected `needsLeadership` to be true or false',
    ],
    [
      'a port out of range',
      () => manager({ ops: { port: 70_000 } }),
      'Expected `ops.port` to be a whole number from 0 to 65535, or false, got `70000` (number)',
    ],
    [
      'an extension that does nothing',
      () => manager({}).use({ name: 'web' }),
      'Expected extension `web` to have one of start, stop, onEvent, onTerm, got none',
    ],
    [
      'an extension without a name',
      () => manager({}).use({ start: () => {} } as never),
      'Expected the `name` of an extension to be a text that is not empty, got `undefined`',
    ],
    [
      'an extension whose method is no function',
      () => manager({}).use({ name: 'web', stop: true as never }),
      'Expected `stop` of extension `web` to be a function, got `true` (boolean)',
    ],
    [
      'an array of extensions',
      () => manager({}).use('web' as never),
      'Expected `use()` to be given an extension, got `web` (string)',
    ],
    [
      'the console as the logger',
      () => manager({ logger: console }),
      'with `debug()`, `info()`, `warn()`, `error()` and `child()`, got one without `child()`',
    ],
    ['a logger that is empty', () => manager({ logger: {} }), 'got one without `debug()`'],
    [
      'a logger that is a text',
      () =>
        new Manager({
          identity: 'a',
          lease: { name: 'a' },
          createLock: () => new MemoryLeaseStore().lock('a'),
          logger: untyped('pino'),
        }),
      'got `pino` (string)',
    ],
    [
      'no lock',
      () => new Manager(untyped({ identity: 'a', lease: { name: 'a' } })),
      'Expected `createLock` to be a function that makes the lock of a lease, got `undefined`',
    ],
    [
      '`proveDeath` beside `lock`',
      () => manager({ lease: { name: 'a', proveDeath: true } }),
      'Expected either `lock` or `lease.proveDeath`',
    ],
    [
      'the path of a kubeconfig by another name',
      () => loadKubeConfig(untyped({ path: '/nowhere' })),
      'Unknown option `path` in `loadKubeConfig()`',
    ],
    [
      'an unknown option of stepDown()',
      () => manager().stepDown(untyped({ cooldown: 1 })),
      'did you mean `cooldownMs`?',
    ],
  ])('%s is an error that says what to do', async (_name, use, message) => {
    const outcome = (async () => use())()
    await expect(outcome).rejects.toThrow(OptionsError)
    await expect(outcome).rejects.toThrow(message)
  })

  it.each<[string, (term: Term) => unknown, string]>([
    [
      'spawn() without a name',
      (term) =>
        term.spawn(
          untyped(async () => {}),
          untyped(undefined),
        ),
      '`name` of `term.spawn(name, work)` to be a text, got `[AsyncFunction (anonymous)]` (function)',
    ],
    [
      'spawn() without work',
      (term) => term.spawn('x', untyped(undefined)),
      '`work` of `term.spawn(name, work)` to be a function, got `undefined`',
    ],
    [
      'spawn() with an unknown option',
      (term) => term.spawn('x', () => {}, untyped({ finish: true })),
      'Unknown option `finish` in `term.spawn()`; did you mean `finishOnDrain`?',
    ],
    [
      'spawn() with an option that is a text',
      (term) => term.spawn('x', () => {}, untyped({ finishOnDrain: 'no' })),
      '`finishOnDrain` to be true or false, got `no` (string)',
    ],
    [
      'every() without an interval',
      (term) =>
        term.every(
          untyped(() => {}),
          untyped(undefined),
        ),
      '`intervalMs` to be a number of milliseconds of at least 0, got `[Function (anonymous)]` (function)',
    ],
    [
      'every() with an interval that is a text',
      (term) => term.every(untyped('1000'), () => {}),
      '`intervalMs` to be a number of milliseconds of at least 0, got `1000` (string)',
    ],
    [
      'every() without work',
      (term) => term.every(1000, untyped(undefined)),
      '`work` of `term.every(intervalMs, work)` to be a function',
    ],
    [
      'timeout() without work',
      (term) => term.timeout(1000, untyped(undefined)),
      '`work` of `term.timeout(delayMs, work)` to be a function',
    ],
    [
      'sleep() for a text',
      (term) => term.sleep(untyped('1')),
      '`delayMs` to be a number of milliseconds of at least 0, got `1` (string)',
    ],
    [
      'defer() without a cleanup',
      (term) => term.defer(untyped(undefined)),
      '`cleanup` of `term.defer(cleanup)` to be a function',
    ],
    [
      'listen() without a listener',
      (term) => term.listen(new EventTarget(), 'x', untyped(undefined)),
      '`listener` of `term.listen(target, event, listener)` to be a function',
    ],
    [
      'listen() without an event',
      (term) =>
        term.listen(
          new EventTarget(),
          untyped(() => {}),
          untyped(undefined),
        ),
      '`event` of `term.listen(target, event, listener)` to be a text or a symbol',
    ],
    [
      'iterate() over an array',
      (term) => term.iterate(untyped([1])),
      '`source` of `term.iterate(source)` to be an async iterable or a readable stream, got `[ 1 ]` (array)',
    ],
    [
      'acquire() without `close`',
      (term) => term.acquire('x', () => 1, untyped(undefined)),
      '`close` of `term.acquire(name, open, close)` to be a function',
    ],
    ['use() of what is not disposable', (term) => term.use(untyped({})), '`term.use()` to be given an object with'],
    [
      'child() without a start',
      (term) => term.child('x', untyped(undefined)),
      '`start` of `term.child(name, start)` to be a function',
    ],
    [
      'worker() without a start',
      (term) => term.worker('x', untyped(undefined)),
      '`start` of `term.worker(name, start)` to be a function',
    ],
    [
      'serve() without a server',
      (term) => term.serve('x', untyped(80), untyped(undefined)),
      '`server` of `term.serve(name, server, listen)` to be a server of `node:net` or a relative, got `80` (number)',
    ],
    [
      'a health check that is no function',
      (term) => term.health.register('x', untyped(true)),
      'the health check `x` to be a function, got `true` (boolean)',
    ],
  ])('of a term, %s, is an error that names the argument', async (_name, use, message) => {
    const outcome = inTerm(use)
    await expect(outcome).rejects.toThrow(OptionsError)
    await expect(outcome).rejects.toThrow(message)
  })

  it('is none where the lease is short: the other durations follow it', () => {
    expect(() =>
      manager({ lease: { name: 'a', leaseDurationMs: 3000, renewDeadlineMs: 2000, retryPeriodMs: 500 } }),
    ).not.toThrow()
  })
})

describe('calls after the end', () => {
  it('of a manager are refused or do nothing', async () => {
    const own = manager()
    own.register(() => new Janitor())
    const running = own.start()
    await own.stop()
    await running
    const ended = { code: 'ALREADY_STARTED' }
    await expect(own.start()).rejects.toMatchObject(ended)
    expect(() => own.register(() => new Janitor())).toThrow(expect.objectContaining(ended))
    expect(() => own.candidacy({ name: 'other' })).toThrow(expect.objectContaining(ended))
    expect(await own.stepDown()).toMatchObject({ kind: 'not-leading' })
    await own.stop()
  })

  it('of a manager that was stopped before its start are refused', async () => {
    const own = manager()
    await own.stop()
    expect(() => own.register(() => new Janitor())).toThrow('before `start()` and `stop()`')
  })

  it('of a term are refused or do nothing', async () => {
    const term = await inTerm((own) => own)
    const closed = expect.objectContaining({ code: 'SCOPE_CLOSED' }) as Error
    expect(() => void term.spawn('x', () => {})).toThrow(closed)
    expect(() => void term.every(1, () => {})).toThrow(closed)
    expect(() => term.timeout(1, () => {})).toThrow(closed)
    expect(() => term.defer(() => {})).toThrow(closed)
    expect(() => term.health.register('x', () => {})).toThrow(expect.objectContaining({ code: 'TERM_ENDED' }))
    expect(() => term.assertHeld()).toThrow(expect.objectContaining({ code: 'NOT_HELD' }))
    await expect(term.sleep(1)).rejects.toMatchObject({ code: 'LEADERSHIP_ENDED' })
    expect(term.isHeld()).toBe(false)
    expect(term.remainingMs()).toBe(0)
    expect(() => term.progress()).not.toThrow()
    expect(() => term.stepDown()).not.toThrow()
  })

  it('of a term do not end the next one', async () => {
    const own = manager()
    const terms: Term[] = []
    const second = Promise.withResolvers<void>()
    own.register(() => ({
      name: 'janitor',
      run: async (term: Term) => {
        terms.push(term)
        if (terms.length === 2) second.resolve()
        await term.sleep(60_000)
      },
    }))
    const ends: unknown[] = []
    own.on((event) => {
      if (event.kind === 'term-began' && terms.length === 0) setImmediate(() => void own.stepDown({ cooldownMs: 0 }))
      if (event.kind === 'term-ending') ends.push(event.reason)
    })
    const running = own.start()
    await second.promise
    terms[0]?.stepDown()
    expect(terms[1]?.isHeld()).toBe(true)
    expect(terms[1]?.signal.aborted).toBe(false)
    await own.stop()
    await running
    expect(ends).toEqual(['step-down', 'shutdown'])
  })
})

describe('a line of the log', () => {
  it('says that no controller is registered, once, and how to register one', async () => {
    const { lines, logger } = recorder()
    const own = manager({ logger })
    const led = Promise.withResolvers<void>()
    own.on(({ kind }) => kind === 'term-began' && led.resolve())
    const running = own.start()
    await led.promise
    await own.stop()
    await running
    const [line, ...others] = lines.filter(({ event }) => event === 'no-controllers')
    expect(others).toEqual([])
    expect(line).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(/lead and do nothing.*register\(\(\) =>/),
    })
  })

  it('says, once, that a second manager of the process stands for the same lease', async () => {
    const { lines, logger } = recorder()
    const store = new MemoryLeaseStore()
    const both = { logger, lock: ({ name }: { readonly name: string }) => store.lock(name) }
    const managers = [manager(both), manager(both), manager({ ...both, lease: { name: 'other' } })]
    const led = Promise.withResolvers<void>()
    for (const own of managers) {
      own.register(() => new Janitor())
      own.on(({ kind }) => kind === 'leader-observed' && led.resolve())
    }
    const running = managers.map((own) => own.start())
    await led.promise
    await Promise.all(managers.map((own) => own.stop()))
    await Promise.all(running)
    const seconds = () => lines.filter(({ event }) => event === 'second-manager')
    expect(seconds()).toMatchObject([{ level: 'warn', message: expect.stringContaining('the lease janitor') }])
    const next = manager(both)
    next.register(() => new Janitor())
    const nextRunning = next.start()
    await next.stop()
    await nextRunning
    expect(seconds()).toHaveLength(1)
  })

  it('says how to create a metric that only the first run of a controller could create', async () => {
    const { lines, logger } = recorder()
    const own = manager({ logger, restart: { backoffMs: 0 } })
    const taken = Promise.withResolvers<void>()
    own.on((event) => {
      if (event.kind === 'controller-failed' && /already been registered/.test(String(event.error))) taken.resolve()
    })
    own.register(() => ({
      name: 'janitor',
      run: async () => {
        const swept = new Counter({ name: 'wrong_use_swept_total', help: 'x' })
        swept.inc()
        throw new Error('restart me')
      },
    }))
    const running = own.start()
    await taken.promise
    register.removeSingleMetric('wrong_use_swept_total')
    await own.stop()
    await running
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 'error',
        message: expect.stringMatching(
          /wrong_use_swept_total has already been registered.*`registers: \[metrics\(term\)\]`/,
        ),
      }),
    )
  })
})

it('the address of a Service named `tenure-ops` is no setting', () => {
  for (const scheme of ['tcp', 'udp', 'sctp']) {
    const env = { TENURE_OPS_PORT: `${scheme}://10.0.0.1:80`, TENURE_OPS_SERVICE_HOST: '10.0.0.1' }
    expect(() => manager({ ops: {}, env })).not.toThrow()
  }
  expect(() => manager({ ops: {}, env: { TENURE_OPS_PORT: 'http://10.0.0.1' } })).toThrow('`ops.port`')
})

it('no listener of the process is left by a manager that has ended', async () => {
  const before = process.listenerCount('exit')
  const own = manager()
  own.register(() => new Janitor())
  const running = own.start()
  expect(process.listenerCount('exit')).toBe(before + 1)
  await own.stop()
  await running
  expect(process.listenerCount('exit')).toBe(before)
})
