import type { LeakKind } from './leak-kind.ts'
import { currentOrigin, type Origin } from './origin.ts'
import { takeTrace, type Trace } from './trace.ts'

/** The current description of a tracked thing. */
export interface Description {
  readonly kind: LeakKind
  /** Distinguishes it from others of its kind: an address, a path, the name of an event. */
  readonly detail?: string
  /** Whether it keeps the process alive. Undefined for kinds that cannot. */
  readonly isRef?: boolean | undefined
  /** A part of another thing of this kind from the same place. Omitted from the report if the whole is reported. */
  readonly isPart?: boolean
  /** Whether the trace shows the definition of a value instead of its assignment. @default false */
  readonly isValue?: boolean
}

/** A thing that was created and must be cleaned up. */
export interface TrackedThing {
  /** Whether it still exists. Must not keep it alive and must not throw. */
  isAlive(): boolean
  /** Returns undefined if it needs no cleanup. */
  describe(): Description | undefined
  /**
   * Whether it counts for a watch that began at `serial` if it was created outside of a term. @default it counts
   */
  countsSince?(serial: number): boolean
  /** Whether the whole process shares it, for a watch that began at `serial`. @default not shared */
  isSharedSince?(serial: number): boolean
  /** Set for an object in memory instead of an open resource. Only a garbage collection shows whether it is still reachable. */
  readonly retained?: WeakRef<object>
  /** The file descriptor that it owns. */
  readonly fd?: number
  /** For the report of what keeps the process alive. */
  readonly resource?: { readonly type: string; readonly deref: () => object | undefined }
}

/** A thing in the ledger. */
export interface Entry {
  /** Grows with every entry. */
  readonly serial: number
  readonly thing: TrackedThing
  readonly origin: Origin
  readonly trace: Trace
}

/** The origin and trace of an entry, if they differ from the current ones. */
export interface EntryContext {
  readonly origin?: Origin
  readonly trace?: Trace
}

const PRUNE_EVERY = 5000

/**
 * All things that were created during a watch, until they are gone.
 *
 * Entries and births (see {@link Births}) share one sequence of serial numbers, so that their order can be compared.
 */
export class Ledger {
  /** The serial number at which the newest watch began. */
  newestWatch = 0
  /** Leaks that a watch has already thrown. */
  readonly reported: Set<Entry | string> = new Set()
  readonly #entries = new Set<Entry>()
  readonly #setters = new Map<string, EntryContext>()
  #serial = 0
  #pass = 0

  /** The number that the next entry or birth gets. */
  get serial(): number {
    return this.#serial
  }

  /** Changes before each check of all entries. A tracker can use it to read shared facts once per check. */
  get pass(): number {
    return this.#pass
  }

  /** Takes the next number. */
  nextSerial(): number {
    return this.#serial++
  }

  /** Adds a thing that was created now. */
  add(thing: TrackedThing, context: EntryContext = {}): Entry {
    if (this.#serial % PRUNE_EVERY === 0) this.#prune()
    const entry = {
      serial: this.nextSerial(),
      thing,
      origin: context.origin ?? currentOrigin(),
      trace: context.trace ?? takeTrace(),
    }
    this.#entries.add(entry)
    return entry
  }

  /** Records that the current caller changes a state of the process. */
  noteSetter(state: string): void {
    this.#setters.set(state, { trace: takeTrace(), origin: currentOrigin() })
  }

  /** The origin and trace of the last recorded change of a state of the process. */
  setterOf(state: string): EntryContext | undefined {
    return this.#setters.get(state)
  }

  /** Removes a thing that is gone. */
  remove(entry: Entry): void {
    this.#entries.delete(entry)
  }

  /** The things that exist, were created since `serial`, and count for a watch that began then. */
  aliveSince(serial: number): readonly Entry[] {
    this.#prune()
    return [...this.#entries].filter((entry) => entry.serial >= serial && counts(entry, serial))
  }

  #prune(): void {
    this.#pass++
    for (const entry of this.#entries) if (!entry.thing.isAlive()) this.#entries.delete(entry)
  }
}

function counts({ thing, origin }: Entry, serial: number): boolean {
  if (thing.isSharedSince?.(serial) === true) return false
  return origin.run !== undefined || thing.countsSince === undefined || thing.countsSince(serial)
}
