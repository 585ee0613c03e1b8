import type { Term } from '@tenure/core'
import type { TaskScope } from '@tenure/core/internal'
import type { Description, Ledger } from '../ledger.ts'
import type { Origin } from '../origin.ts'
import { takeTrace, type Trace } from '../trace.ts'

interface Run {
  readonly origin: Origin
  readonly trace: Trace
  readonly controller: WeakRef<object> | undefined
}

/**
 * Which run of which controller belongs to which term, from what can be seen outside of Tenure. Holds no Term and no
 * Controller.
 */
export class RunBook {
  readonly #ledger: Ledger
  readonly #runs = new WeakMap<TaskScope, Run>()
  readonly #over = new WeakSet<TaskScope>()
  readonly #signals = new WeakMap<TaskScope, readonly (readonly [name: string, signal: WeakRef<AbortSignal>])[]>()
  /** Built and not yet run, by name: names are unique within a lease. */
  readonly #built = new Map<string, { readonly controller: WeakRef<object>; readonly trace: Trace | undefined }>()
  readonly #epochs = new Map<string, bigint>()
  readonly #leaseOf = new Map<string, string>()
  readonly #ownedSightings = new WeakMap<object, Set<number>>()
  #beginning: string | undefined
  #nextRun = 1

  constructor(ledger: Ledger) {
    this.#ledger = ledger
  }

  /** A term begins: its controllers start before the present turn is over. */
  termBegan(lease: string, epoch: bigint): void {
    this.#epochs.set(lease, epoch)
    this.#beginning = lease
    queueMicrotask(() => (this.#beginning = undefined))
  }

  /** A controller was built; `trace` is where its factory was registered. The first call for each counts. */
  controllerBuilt(controller: object, trace?: Trace): void {
    const name: unknown = Reflect.get(controller, 'name')
    if (typeof name !== 'string' || this.#built.get(name)?.controller.deref() === controller) return
    this.#built.set(name, { controller: new WeakRef(controller), trace })
  }

  /** A controller is about to run with this Term. */
  termHandedOut(scope: TaskScope, { signal, hardSignal }: Term): void {
    this.#signals.set(scope, [
      ['signal', new WeakRef(signal)],
      ['hardSignal', new WeakRef(hardSignal)],
    ])
  }

  /** What the tasks of a scope create comes from here. */
  originOf(scope: TaskScope): Origin {
    return (this.#runs.get(scope) ?? this.#begin(scope)).origin
  }

  /** The last task and cleanup of a run have ended: from now on nothing should hold its Term or its Controller. */
  runOver(scope: TaskScope): void {
    const run = this.#runs.get(scope)
    if (run === undefined || this.#over.has(scope)) return
    this.#over.add(scope)
    this.#expectCollected(scope, run, () => ({ kind: 'term' }))
    for (const [name, ref] of this.#signals.get(scope) ?? []) {
      const signal = ref.deref()
      if (signal !== undefined) this.#watchOwned(signal, run, `the ${name} of a Term of \`${run.origin.controller}\``)
    }
    const controller = run.controller?.deref()
    if (controller === undefined) return
    this.#expectCollected(controller, run, () => ({ kind: 'controller' }))
    for (const [field, value] of ownedObjects(controller))
      this.#watchOwned(value, run, `\`${run.origin.controller}.${field}\``)
  }

  #begin(scope: TaskScope): Run {
    const controller = scope.liveTasks()[0]?.controller ?? 'unknown'
    if (this.#beginning !== undefined) this.#leaseOf.set(controller, this.#beginning)
    const lease = this.#leaseOf.get(controller)
    const epoch = lease === undefined ? undefined : this.#epochs.get(lease)
    const built = this.#built.get(controller)
    this.#built.delete(controller)
    const run: Run = {
      origin: {
        controller,
        run: this.#nextRun++,
        ...(lease !== undefined && { lease }),
        ...(epoch !== undefined && { epoch }),
      },
      trace: built?.trace ?? takeTrace(),
      controller: built?.controller,
    }
    this.#runs.set(scope, run)
    return run
  }

  #expectCollected(object: object, { origin, trace }: Run, describe: () => Description | undefined): void {
    const ref = new WeakRef(object)
    this.#ledger.add({ retained: ref, isAlive: () => ref.deref() !== undefined, describe }, { origin, trace })
  }

  /** An object in a field of several runs was passed to them and does not belong to any of them. */
  #watchOwned(object: object, run: Run, detail: string): void {
    const sightings = this.#ownedSightings.get(object) ?? new Set<number>()
    this.#ownedSightings.set(object, sightings)
    sightings.add(run.origin.run ?? 0)
    if (sightings.size > 1) return
    this.#expectCollected(object, run, () => (sightings.size > 1 ? undefined : { kind: 'owned-object', detail }))
  }
}

function ownedObjects(controller: object): readonly (readonly [string, object])[] {
  return Object.entries(Object.getOwnPropertyDescriptors(controller)).flatMap(([field, { value }]) =>
    typeof value === 'object' && value !== null ? [[field, value as object] as const] : [],
  )
}
