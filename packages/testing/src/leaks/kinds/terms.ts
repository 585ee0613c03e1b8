import { Controller, Manager, MemoryLeaseStore } from '@tenure/core'
import { type TaskNote, TaskScope } from '@tenure/core/internal'
import type { Ledger } from '../ledger.ts'
import { currentOrigin, type Origin, runWithOrigin } from '../origin.ts'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import { takeTrace, type Trace } from '../trace.ts'
import type { Tracker } from '../tracker.ts'
import { RunBook } from './run-book.ts'
import { WatchedRuns } from './watched-runs.ts'

/**
 * Attributes everything that a task creates to its controller, term and task. Tracks tasks, Terms and Controllers until they are
 * gone.
 */
export const trackTerms: Tracker = ({ ledger }) => {
  const book = new RunBook(ledger)
  const runs = new WatchedRuns(book)
  const built = (controller: object, trace?: Trace) => {
    book.controllerBuilt(controller, trace)
    runs.watch(controller)
  }
  return undoAll([
    () => runs.undo(),
    watchManagers(book),
    watchFactories(built),
    watchAdmissions(built),
    watchTasks(ledger, book),
    watchCleanups(book),
    watchJoins(book),
  ])
}

/** A manager tells which lease begins which term; what its candidacy starts synchronously then belongs to it. */
function watchManagers(book: RunBook): Undo {
  return replaceProperty(
    Manager.prototype,
    'start',
    (original) =>
      function start(this: Manager) {
        const stop = this.on((event) => {
          if (event.kind === 'term-began') book.termBegan(event.lease, event.epoch)
        })
        const running = runWithOrigin({ ...currentOrigin(), start: takeTrace() }, () => original.call(this))
        running.then(stop, stop)
        return running
      },
  )
}

type Built = (controller: object, trace?: Trace) => void

interface Registrar {
  register(factory: unknown, options?: object): unknown
}

let registrar: Registrar | undefined

/** Both the manager and a candidacy of its own take factories in the same method, of a class that core keeps to itself. */
function registrarPrototype(): Registrar {
  if (registrar !== undefined) return registrar
  const store = new MemoryLeaseStore()
  const probe = new Manager({ identity: 'probe', lease: { name: 'probe' }, createLock: () => store.lock('probe') })
  registrar = Object.getPrototypeOf(probe.candidacies[0]) as Registrar
  return registrar
}

function watchFactories(built: Built): Undo {
  return replaceProperty(
    registrarPrototype(),
    'register',
    (original) =>
      function register(this: Registrar, factory, options) {
        if (typeof factory !== 'function') return original.call(this, factory, options)
        const trace = takeTrace()
        const apply = (make: () => unknown): unknown => {
          const controller = make()
          if (typeof controller === 'object' && controller !== null) built(controller, trace)
          return controller
        }
        // A class that was given by mistake still looks like one.
        const observed = new Proxy(factory as () => unknown, { apply })
        return original.call(this, observed, options)
      },
  )
}

/**
 * The factories of a manager that was made before anybody watched cannot be seen any more. What they make can: Tenure notes every
 * controller in a WeakSet, so as to refuse an instance that it gets twice.
 */
function watchAdmissions(built: Built): Undo {
  return replaceProperty(
    WeakSet.prototype as WeakSet<object>,
    'add',
    (original) =>
      function add(this: WeakSet<object>, value: object) {
        if (value instanceof Controller) built(value)
        return original.call(this, value)
      },
  )
}

function watchTasks(ledger: Ledger, book: RunBook): Undo {
  return replaceProperty(
    TaskScope.prototype,
    'spawn',
    (original) =>
      function spawn<T>(this: TaskScope, name: string, work: (task: TaskNote) => T | Promise<T>): Promise<T> {
        const trace = takeTrace()
        const observed = (task: TaskNote) =>
          runTask(ledger, { origin: { ...book.originOf(this), task: name }, trace }, () => work(task))
        return original.call(this, name, observed) as Promise<T>
      },
  )
}

/** Calls `work`, hands its very promise on, and strikes the task out when that has settled. */
function runTask<T>(ledger: Ledger, context: TaskContext, work: () => T | Promise<T>): T | Promise<T> {
  const { task = '' } = context.origin
  const entry = ledger.add({ isAlive: () => true, describe: () => ({ kind: 'task', detail: `\`${task}\`` }) }, context)
  const settled = () => ledger.remove(entry)
  try {
    const result = runWithOrigin(context.origin, work)
    if (result instanceof Promise) result.then(settled, settled)
    else settled()
    return result
  } catch (error) {
    settled()
    throw error
  }
}

interface TaskContext {
  readonly origin: Origin
  readonly trace: Trace
}

/** What a cleanup creates is its controller's as well. */
function watchCleanups(book: RunBook): Undo {
  return replaceProperty(
    TaskScope.prototype,
    'defer',
    (original) =>
      function defer(this: TaskScope, cleanup: (signal: AbortSignal) => unknown) {
        const origin = { ...book.originOf(this), task: 'cleanup' }
        original.call(this, (signal) => runWithOrigin(origin, () => cleanup(signal)))
      },
  )
}

function watchJoins(book: RunBook): Undo {
  return replaceProperty(
    TaskScope.prototype,
    'join',
    (original) =>
      function join(this: TaskScope) {
        const joined = original.call(this)
        void joined.then(() => book.runOver(this))
        return joined
      },
  )
}
