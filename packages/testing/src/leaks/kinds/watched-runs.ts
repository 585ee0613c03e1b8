import { type Term } from '@tenure/core'
import { TaskScope } from '@tenure/core/internal'
import { replaceProperty, type Undo } from '../replace-property.ts'
import type { RunBook } from './run-book.ts'

interface Runnable {
  run(term: Term): unknown
}

/**
 * Records each Term when a controller receives it, because only the Term shows which signals belong to it.
 *
 * Holds no class: a class that a test declares holds all variables of the test.
 */
export class WatchedRuns {
  readonly #book: RunBook
  readonly #undos = new WeakMap<object, Undo>()
  readonly #owners = new Set<WeakRef<object>>()

  constructor(book: RunBook) {
    this.#book = book
  }

  /** Watches the class of a controller from now on. */
  watch(controller: object): void {
    const owner = ownerOfRun(controller)
    if (owner === undefined || this.#undos.has(owner)) return
    const book = this.#book
    const undo = replaceProperty(
      owner,
      'run',
      (original) =>
        function run(this: Runnable, term: Term) {
          const scope: unknown = Reflect.get(term, 'scope')
          if (scope instanceof TaskScope) book.termHandedOut(scope, term)
          return original.call(this, term)
        },
    )
    this.#undos.set(owner, undo)
    this.#owners.add(new WeakRef(owner))
  }

  /** Puts everything back. */
  undo(): void {
    for (const ref of this.#owners) {
      const owner = ref.deref()
      if (owner !== undefined) this.#undos.get(owner)?.()
    }
    this.#owners.clear()
  }
}

/** The prototype, or the controller itself, that has its `run()`. */
function ownerOfRun(controller: object): Runnable | undefined {
  let owner: object | null = controller
  while (owner !== null && !Object.hasOwn(owner, 'run')) owner = Object.getPrototypeOf(owner) as object | null
  const descriptor = owner === null ? undefined : Object.getOwnPropertyDescriptor(owner, 'run')
  const isReplaceable = typeof descriptor?.value === 'function' && descriptor.configurable === true
  return isReplaceable ? (owner as Runnable) : undefined
}
