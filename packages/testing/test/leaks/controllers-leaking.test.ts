import { once } from 'node:events'
import { Agent, createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Controller, Manager, MemoryLeaseStore, OptionsError, type Term } from '@tenure/core'
import { describe, expect, it } from 'vitest'
import { expectNoLeaks, LeakError, type LeakTestKit, watchForLeaks } from '../../src/leaks/index.ts'
import { type CleanUp, type Plant, plants } from './plants/index.ts'
import { tenurePlants } from './plants/tenure.ts'

class Gardener extends Controller {
  override readonly name = 'gardener'
  readonly #work: (term: Term) => unknown

  constructor(work: (term: Term) => unknown) {
    super()
    this.#work = work
  }

  override async run(term: Term): Promise<void> {
    await term.spawn('plant', () => this.#work(term))
    await term.every(60_000, () => {})
  }
}

async function failureOf(check: Promise<void>): Promise<LeakError> {
  const error: unknown = await check.then(
    () => undefined,
    (error: unknown) => error,
  )
  if (error instanceof LeakError) return error
  throw new Error('Expected leaks to be found', { cause: error })
}

/** One term of one controller. */
async function runOnce(build: () => Controller): Promise<void> {
  const store = new MemoryLeaseStore()
  const manager = new Manager({ identity: 'a', lease: { name: 'once' }, createLock: ({ name }) => store.lock(name) })
  const began = Promise.withResolvers<void>()
  manager.on(({ kind }) => kind === 'term-began' && began.resolve())
  manager.register(build)
  const running = manager.start()
  await began.promise
  await manager.stop()
  await running
}

/** What a controller can plant in each of its terms: everything that does not bring a manager of its own, and has a place and a maker. */
const everyTerm = plants.filter(
  (plant) => !tenurePlants.includes(plant) && plant.unplaced === undefined && plant.isAssigned !== true,
)
/** The epoch of the second term: 3, or 4 where the drain of the first lasted long enough for an offer of the lease. */
const LATER: unknown = expect.toBeOneOf([3n, 4n])
const QUICK = { terms: 2, termMs: 60, graceMs: 60 }

describe('a leak in every term', () => {
  it.each(everyTerm)('is caught for $name and names the controller, the task and the terms', async (plant: Plant) => {
    const restore = await plant.prepare?.()
    const cleanUps: CleanUp[] = []
    const plantIt = () => new Gardener(async () => cleanUps.push(await plant.leak()))
    const { leaks, message } = await failureOf(expectNoLeaks(plantIt, QUICK))
    // The second term found what the first one had left.
    for (const cleanUp of cleanUps.toReversed()) await cleanUp()
    await restore?.()
    const leak = leaks.find(({ kind }) => kind === plant.kind)
    expect(leak).toMatchObject({ controller: 'gardener', task: 'plant', lease: 'leak-test' })
    // A pool or a poller that the first term has opened serves the second as well; of a setting, the last change stands.
    expect([[1n], [1n, LATER], [LATER]]).toContainEqual(leak?.epochs)
    expect(leak?.site).toContain('packages/testing/test/leaks/plants/')
    expect(message).toMatch(/by controller `gardener`, task `plant`, (?:term [134]|terms 1, [34]) of lease `leak-test`/)
  })

  it.each(everyTerm)('is not claimed for the clean twin of $name', async (plant: Plant) => {
    const restore = await plant.prepare?.()
    await expectNoLeaks(() => new Gardener(() => plant.clean()), { terms: 2, termMs: 10 })
    await restore?.()
  })
})

describe('what Node does with a pooled connection', () => {
  it('is not claimed apart from the connection, which may be left on purpose', async () => {
    const server = createServer((_request, response) => response.end()).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const agent = new Agent({ keepAlive: true })
    const call = async () => {
      const { port } = server.address() as AddressInfo
      const [response] = (await once(get({ port, host: '127.0.0.1', agent }), 'response')) as [IncomingMessage]
      await once(response.resume(), 'close')
    }
    try {
      await call()
      await expectNoLeaks(() => new Gardener(call), { terms: 3, graceMs: 60, ignore: { kinds: ['keep-alive-socket'] } })
    } finally {
      agent.destroy()
      server.close()
    }
  })
})

describe('objects of a term', () => {
  it('are reported with the terms whose controllers are still reachable', async () => {
    const kept: Controller[] = []
    const register = (kit: LeakTestKit) =>
      new Manager(kit).register(() => {
        const controller = new Gardener(() => {})
        kept.push(controller)
        return controller
      })
    const { leaks } = await failureOf(expectNoLeaks(register, QUICK))
    expect(leaks).toMatchObject([{ kind: 'controller', controller: 'gardener', count: 2 }])
    expect(leaks[0]?.site).toContain('controllers-leaking.test.ts')
    expect(kept).toHaveLength(2)
  })

  it('are seen if the manager was created before the watch', async () => {
    const kept: Controller[] = []
    const store = new MemoryLeaseStore()
    const manager = new Manager({ identity: 'a', lease: { name: 'early' }, createLock: ({ name }) => store.lock(name) })
    manager.register(() => {
      const controller = new Gardener(() => {})
      kept.push(controller)
      return controller
    })
    const { leaks } = await failureOf(expectNoLeaks(manager, QUICK))
    expect(leaks).toMatchObject([{ kind: 'controller', controller: 'gardener', epochs: [1n, LATER], count: 2 }])
    expect(kept).toHaveLength(2)
  })

  it('are not held by the watch itself where a class is declared among them', async () => {
    const watch = watchForLeaks({ graceMs: 60 })
    await runOnce(() => {
      const bytes = { length: 1024 }
      watch.expectCollected(bytes, 'what the class holds')
      return new (class extends Gardener {
        override run(term: Term): Promise<void> {
          return super.run(bytes.length > 0 ? term : term)
        }
      })(() => {})
    })
    await watch.assertNone()
  })

  it('do not count with `retained: false`', async () => {
    const kept: Term[] = []
    await expectNoLeaks(() => new Gardener((term) => kept.push(term)), { terms: 2, retained: false })
    expect(kept).toHaveLength(2)
  })
})

describe('the terms that are driven', () => {
  it('are as many as asked for, each with a controller of its own', async () => {
    const epochs: bigint[] = []
    await expectNoLeaks(() => new Gardener((term) => epochs.push(term.epoch)), { terms: 3, termMs: 0 })
    expect(new Set(epochs).size).toBe(3)
  })

  it('leave out what only warm-up terms have made', async () => {
    let timer: NodeJS.Timeout | undefined
    const once = () => new Gardener(() => (timer ??= setInterval(() => {}, 60_000)))
    await expectNoLeaks(once, { terms: 2, warmUpTerms: 1 })
    clearInterval(timer)
  })

  it('end in an error that names the stuck task when a term does not end', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const check = expectNoLeaks(() => new Gardener((term) => void term.spawn('stuck', () => promise)), {
      terms: 2,
      termTimeoutMs: 50,
    })
    const { leaks, message, cause } = await failureOf(check)
    resolve()
    expect(leaks.map(({ kind, detail }) => [kind, detail])).toContainEqual(['task', '`stuck`'])
    expect(message).toContain('Term 1 of `leak-test` did not end within 50 ms')
    expect(cause).toBeInstanceOf(Error)
  })

  it('report why the manager failed', async () => {
    const broken = (kit: LeakTestKit) =>
      new Manager(kit).use({ name: 'broken', start: () => Promise.reject(new Error('no port')) })
    await expect(expectNoLeaks(broken, QUICK)).rejects.toThrow('no port')
  })
})

describe('bad input of expectNoLeaks()', () => {
  const good = () => new Gardener(() => {})

  it.each([
    ['an unknown option', { term: 5 }, 'Unknown option `term` in `expectNoLeaks()`; did you mean `terms`?'],
    ['no term at all', { terms: 0 }, 'Expected `terms` to be a whole number of at least 1, got `0` (number)'],
    ['half a term', { terms: 1.5 }, 'Expected `terms` to be a whole number of at least 1, got `1.5` (number)'],
    ['a negative duration', { termMs: -1 }, 'Expected `termMs` to be a number of at least 0, got `-1` (number)'],
  ])('%s is refused', async (_name, options, message) => {
    await expect(expectNoLeaks(good, options as object)).rejects.toThrow(new OptionsError(message))
  })

  it.each([
    ['nothing', undefined, 'Expected `expectNoLeaks()` to be given a Manager, or a function'],
    ['a function that returns neither', () => 5, 'Expected the function to return a Manager or a Controller, got `5`'],
  ])('%s is refused', async (_name, subject, message) => {
    await expect(expectNoLeaks(subject as never)).rejects.toThrow(message)
  })

  it('a manager that was started is refused, and goes on', async () => {
    const store = new MemoryLeaseStore()
    const manager = new Manager({ identity: 'a', lease: { name: 'busy' }, createLock: ({ name }) => store.lock(name) })
    const running = manager.start()
    await expect(expectNoLeaks(manager)).rejects.toBeInstanceOf(OptionsError)
    await manager.stop()
    await running
    await expect(expectNoLeaks(manager)).rejects.toBeInstanceOf(OptionsError)
  })
})
