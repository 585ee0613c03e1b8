import { type Clock, HealthProbe, HealthRegistry, type Logger } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { createOps, type Ops } from '@tenure/ops'
import { afterEach, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../testing/src/virtual-clock/virtual-clock.ts'
import { runChecks } from '../src/server/bounded-checks.ts'
import { BoundedWaits } from '../src/server/bounded-waits.ts'
import { get } from './managed-ops.ts'

const stops: (() => Promise<void>)[] = []

afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

interface Checks {
  readonly livez: HealthRegistry
  readonly readyz: HealthRegistry
}

/** An operations port over registries that the test fills, without a manager. */
async function serve(fill: (checks: Checks) => void, clock?: Clock, logger: Logger = silentLogger): Promise<Ops> {
  const registries = { livez: new HealthRegistry(), readyz: new HealthRegistry() }
  fill(registries)
  const [livez, readyz] = [new HealthProbe(), new HealthProbe()]
  livez.add(registries.livez)
  readyz.add(registries.readyz)
  const ops = createOps({ port: 0, host: '127.0.0.1', processMetrics: false, logger, ...(clock && { clock }) })
  const featureGates = {
    GracefulLeaderTransition: { enabled: true, stage: 'BETA' },
    ReleaseLockOnExit: { enabled: true, stage: 'BETA' },
  } as const
  await ops.start({ identity: 'a', livez, readyz, candidacies: [], featureGates, stop: async () => {} })
  stops.push(async () => ops.stop())
  return ops
}

const healthy = (checks: Checks) => {
  checks.livez.register('ping', () => {})
  checks.livez.register('janitor.cache', () => {})
  checks.readyz.register('shutdown', () => {})
}

const sick = (checks: Checks) => {
  healthy(checks)
  checks.livez.register('drain', () => {
    throw new Error('still running: \r\n  sweep (app.ts:3:7)')
  })
}

test('a healthy endpoint answers just ok, as plain text that is not to be cached', async () => {
  const ops = await serve(healthy)
  const answer = await get(ops, '/livez')
  expect(answer).toMatchObject({ status: 200, body: 'ok' })
  expect(answer.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
})

test('a healthy endpoint names its checks when it is asked to be verbose', async () => {
  const ops = await serve(healthy)
  expect(await get(ops, '/livez?verbose')).toMatchObject({
    status: 200,
    body: '[+]ping ok\n[+]janitor.cache ok\nlivez check passed\n',
  })
  expect((await get(ops, '/readyz?verbose=true')).body).toBe('[+]shutdown ok\nreadyz check passed\n')
})

test('a failing endpoint answers 500 and gives the reason of the failure in one line, unasked', async () => {
  const ops = await serve(sick)
  expect(await get(ops, '/livez')).toMatchObject({
    status: 500,
    body: '[+]ping ok\n[+]janitor.cache ok\n[-]drain failed: still running: sweep (app.ts:3:7)\nlivez check failed\n',
  })
})

test('excluded checks are not run, and do not fail the endpoint', async () => {
  const ops = await serve(sick)
  expect(await get(ops, '/livez?exclude=drain&exclude=ping')).toMatchObject({ status: 200, body: 'ok' })
  expect((await get(ops, '/livez?exclude=drain&exclude=ping&verbose')).body).toBe(
    '[+]ping excluded: ok\n[+]janitor.cache ok\n[+]drain excluded: ok\nlivez check passed\n',
  )
})

test('excluded checks are not run either when each check runs by itself because one of them hangs', async () => {
  const checks = new HealthRegistry()
  checks.register('hangs', () => new Promise<never>(() => {}))
  const excluded = vi.fn()
  checks.register('excluded', excluded)
  const probe = new HealthProbe()
  probe.add(checks)
  const clock = new VirtualClock()
  const results = runChecks(new BoundedWaits(clock, 1000), probe, new Set(['excluded']))
  await clock.advance(2000)
  expect(await results).toEqual([{ name: 'hangs', failure: new Error('timed out after 1000 ms') }])
  expect(excluded).not.toHaveBeenCalled()
})

test('several checks that fail are logged once too', async () => {
  const warn = vi.fn()
  const fails = (checks: Checks) => {
    sick(checks)
    checks.livez.register('disk', () => Promise.reject(new Error('full')))
  }
  const ops = await serve(fails, undefined, { ...silentLogger, warn })
  await get(ops, '/livez')
  await get(ops, '/livez')
  expect(warn.mock.calls.map(([, message]) => message)).toEqual(['livez fails: drain, disk'])
})

test('a change of what fails is logged once, and questions that exclude checks log nothing', async () => {
  const lines: string[] = []
  const take = (_fields: object, message: string) => void lines.push(message)
  const logger: Logger = { debug: take, info: take, warn: take, error: take, child: () => logger }
  let broken = true
  const ops = await serve(
    ({ livez }) => {
      livez.register('ping', () => {})
      livez.register('disk', () => {
        if (broken) throw new Error('full')
      })
    },
    undefined,
    logger,
  )
  lines.length = 0
  for (let round = 0; round < 3; round++) {
    await get(ops, '/livez')
    await get(ops, '/livez?exclude=disk')
    await get(ops, '/livez?exclude=ping')
    await get(ops, '/livez?exclude=disk&exclude=ping')
  }
  expect(lines).toEqual(['livez fails: disk'])
  broken = false
  await get(ops, '/livez?exclude=disk')
  expect(lines).toEqual(['livez fails: disk'])
  await get(ops, '/livez?exclude=ping')
  expect(lines).toEqual(['livez fails: disk', 'livez passes again'])
})

test('a change is logged with the checks that fail; a check that was removed while it failed counts as passed', async () => {
  const lines: unknown[] = []
  const take = (...line: unknown[]) => void lines.push(line)
  const logger: Logger = { debug: take, info: take, warn: take, error: take, child: () => logger }
  const removals: (() => void)[] = []
  const fails = (reason: string) => () => {
    throw new Error(reason)
  }
  let livez: HealthRegistry | undefined
  const ops = await serve(
    (checks) => {
      livez = checks.livez
      livez.register('ping', () => {})
      removals.push(livez.register('disk', fails('full\n  really')))
    },
    undefined,
    logger,
  )
  lines.length = 0
  await get(ops, '/livez')
  removals.push(...[livez?.register('net', fails('cut')) ?? []].flat())
  await get(ops, '/livez')
  removals[0]?.()
  await get(ops, '/livez')
  removals[1]?.()
  await get(ops, '/livez')
  const fields = { event: 'health-check', endpoint: 'livez' }
  expect(lines).toEqual([
    [{ ...fields, checks: ['[-]disk failed: full really'] }, 'livez fails: disk'],
    [{ ...fields, checks: ['[-]disk failed: full really', '[-]net failed: cut'] }, 'livez fails: disk, net'],
    [{ ...fields, checks: ['[-]net failed: cut'] }, 'livez fails: net'],
    [fields, 'livez passes again'],
  ])
})

test('a check has a path of its own however long its name is', async () => {
  const name = `${'l'.repeat(253)}.${'c'.repeat(2000)}`
  const ops = await serve(({ livez }) => void livez.register(name, () => {}))
  expect(await get(ops, `/livez/${encodeURIComponent(name)}`)).toMatchObject({ status: 200, body: 'ok' })
})

test('excluding a check that does not exist is warned about', async () => {
  const ops = await serve(healthy)
  expect((await get(ops, '/livez?verbose&exclude=b%22&exclude=a')).body).toBe(
    '[+]ping ok\n[+]janitor.cache ok\n' +
      'warn: some health checks cannot be excluded: no matches for "a","b\\""\nlivez check passed\n',
  )
})

test('every check has a path of its own, also one with dots in its name', async () => {
  const ops = await serve(sick)
  expect(await get(ops, '/livez/janitor.cache')).toMatchObject({ status: 200, body: 'ok' })
  expect(await get(ops, '/livez/drain')).toMatchObject({
    status: 500,
    body: 'internal server error: still running: sweep (app.ts:3:7)\n',
  })
})

test('a check or path that does not exist is not found', async () => {
  const ops = await serve(healthy)
  expect(await get(ops, '/livez/shutdown')).toMatchObject({ status: 404, body: 'no such check\n' })
  expect(await get(ops, '/livez/')).toMatchObject({ status: 404 })
  expect(await get(ops, '/')).toMatchObject({ status: 404, body: 'not found\n' })
  expect(await get(ops, '/livez', 'POST')).toMatchObject({ status: 404 })
})

test('healthz serves the checks of livez: a process that shuts down in order is not to be restarted', async () => {
  const ops = await serve(({ livez, readyz }) => {
    livez.register('ping', () => {})
    readyz.register('shutdown', () => {
      throw new Error('the process is shutting down')
    })
  })
  expect((await get(ops, '/readyz')).status).toBe(500)
  expect((await get(ops, '/healthz?verbose')).body).toBe('[+]ping ok\nhealthz check passed\n')
})

test('HEAD answers with the status and the headers of GET, without a body', async () => {
  const ops = await serve(sick)
  const head = await get(ops, '/livez', 'HEAD')
  const { body } = await get(ops, '/livez')
  expect(head).toMatchObject({ status: 500, body: '' })
  expect(head.headers['content-length']).toBe(String(body.length))
  expect(await get(ops, '/readyz', 'HEAD')).toMatchObject({ status: 200, body: '' })
  expect(await get(ops, '/metrics', 'HEAD')).toMatchObject({ status: 200, body: '' })
})

test('a check that hangs fails after the timeout, and takes no other check with it', async () => {
  const timeouts = new Set<() => void>()
  const clock: Clock = {
    now: () => 0,
    wallTime: () => 0,
    setTimer(delayMs, callback) {
      if (delayMs === 5000) timeouts.add(callback)
      return { cancel: () => timeouts.delete(callback) }
    },
  }
  const hung = Promise.withResolvers<void>()
  let asked = Promise.withResolvers<void>()
  const fireTimers = async () => {
    await asked.promise
    asked = Promise.withResolvers()
    for (const fire of timeouts) fire()
  }
  const ops = await serve(({ livez }) => {
    livez.register('ping', () => {})
    livez.register('disk', () => {
      setImmediate(() => asked.resolve())
      return hung.promise
    })
  }, clock)
  const answer = get(ops, '/livez')
  await fireTimers()
  await fireTimers()
  expect(await answer).toMatchObject({
    status: 500,
    body: '[+]ping ok\n[-]disk failed: timed out after 5000 ms\nlivez check failed\n',
  })
  expect(timeouts.size).toBe(0)
  hung.resolve()
  expect(await get(ops, '/livez')).toMatchObject({ status: 200, body: 'ok' })
})

test('a check that fails with a value that has no text is one line of the answer like any other', async () => {
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  const values: readonly unknown[] = [Object.create(null), revoked.proxy, Symbol('x'), undefined]
  const ops = await serve((checks) => {
    healthy(checks)
    for (const [index, value] of values.entries()) {
      checks.livez.register(`hostile-${index}`, () => {
        throw value
      })
    }
  })
  const { status, body } = await get(ops, '/livez')
  expect(status).toBe(500)
  expect(body).toContain('[-]hostile-0 failed: [Object: null prototype] {}\n[-]hostile-1 failed: <Revoked Proxy>\n')
  expect(body).toContain('[-]hostile-2 failed: Symbol(x)\n[-]hostile-3 failed: undefined\n')
})
