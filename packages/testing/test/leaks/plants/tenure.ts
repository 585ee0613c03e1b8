import { Controller, HealthRegistry, Manager, MemoryLeaseStore, type Term } from '@tenure/core'
import { kept, letGo, type Plant } from './plant.ts'

const registry = new HealthRegistry()
registry.register('always', () => {})

class Worker extends Controller {
  override readonly name = 'worker'
  readonly cache = { entries: new Map<string, string>() }
  readonly #work: (term: Term, controller: Worker) => unknown

  constructor(work: (term: Term, controller: Worker) => unknown) {
    super()
    this.#work = work
  }

  override async run(term: Term): Promise<void> {
    await this.#work(term, this)
    await term.every(60_000, () => {})
  }
}

/** Two terms on a memory lock, one after the other. */
async function twoTerms(work: (term: Term, controller: Worker) => unknown): Promise<void> {
  const store = new MemoryLeaseStore()
  const manager = new Manager({ identity: 'a', lease: { name: 'plants' }, createLock: ({ name }) => store.lock(name) })
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let terms = 0
  manager.register(() => new Worker(work))
  manager.on((event) => {
    if (event.kind === 'term-began') begun[terms++]?.resolve()
  })
  const running = manager.start()
  await begun[0]?.promise
  await manager.stepDown({ cooldownMs: 0 })
  await begun[1]?.promise
  await manager.stop()
  await running
}

/** A manager that leads and cannot end its term, because a task settles only on command. */
async function startWithTask(untilDone: Promise<void>): Promise<Manager> {
  const store = new MemoryLeaseStore()
  const manager = new Manager({ identity: 'a', lease: { name: 'plants' }, createLock: ({ name }) => store.lock(name) })
  const begun = Promise.withResolvers<void>()
  manager.register(
    () =>
      new Worker((term) => {
        void term.spawn('stuck', () => untilDone)
        begun.resolve()
      }),
  )
  void manager.start()
  await begun.promise
  return manager
}

export const tenurePlants: readonly Plant[] = [
  {
    name: 'task that never settles',
    kind: 'task',
    leak: async () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      const manager = await startWithTask(promise)
      const stopped = manager.stop()
      return () => {
        resolve()
        return stopped
      }
    },
    clean: async () => (await startWithTask(Promise.resolve())).stop(),
  },
  {
    name: 'health check',
    kind: 'health-check',
    leak: () => registry.register('leaked', () => {}),
    clean: () => registry.register('leaked', () => {})(),
  },
  {
    name: 'Term in a list',
    kind: 'term',
    leak: async () => {
      await twoTerms((term) => kept.push(term))
      return letGo
    },
    clean: () => twoTerms(() => {}),
  },
  {
    name: 'Controller in a closure',
    kind: 'controller',
    leak: async () => {
      await twoTerms((_term, controller) => kept.push(() => controller.name))
      return letGo
    },
    clean: () => twoTerms((_term, controller) => void controller.name),
  },
  {
    name: 'signal of a Term in a list',
    kind: 'owned-object',
    leak: async () => {
      await twoTerms((term) => kept.push(term.signal))
      return letGo
    },
    clean: () => twoTerms((term) => void term.signal.aborted),
  },
  {
    name: 'cache of a Controller',
    kind: 'owned-object',
    leak: async () => {
      await twoTerms((_term, controller) => kept.push(controller.cache.entries && controller.cache))
      return letGo
    },
    clean: () => twoTerms((_term, controller) => controller.cache.entries.set('a', 'b')),
  },
]
