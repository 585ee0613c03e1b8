import type { LeakKind } from './leak-kind.ts'
import { currentOrigin, type Origin } from './origin.ts'
import { takeTrace, type Trace } from './trace.ts'

/** What a tracker knows of a thing at the moment it is asked. */
export interface Description {
  readonly kind: LeakKind
  /** What tells it from others of its kind: an address, a path, the name of an event. */
  readonly detail?: string
  /** Whether it keeps the process alive; undefined where that makes no sense. */
  readonly isRef?: boolean | undefined
  /** A part of something of this kind that was made in the same place: says nothing where the whole is there as well. */
  readonly isPart?: boolean
  /** Whether the trace shows where a value was written rather than who assigned it. @default false */
  readonly isValue?: boolean
}

/** A thing that somebody created and that should be gone at some time. */
export interface TrackedThing {
  /** Whether it is still there. Must not keep it there, and must not throw. */
  isAlive(): boolean
  /** Undefined when it turns out to be nothing that anybody could have to clean up. */
  describe(): Description | undefined
  /**
   * Whether it counts for a watch that began at `serial` though nobody's term has created it. @default counts
   */
  countsSince?(serial: number): boolean
  /** Whether it lives for the whole process, for any first user, for a watch that began at `serial`. @default is not */
  isSharedSince?(serial: number): boolean
  /** Memory that something still reaches, rather than a thing that is open: only a garbage collection can tell. */
  readonly retained?: WeakRef<object>
  /** The file descriptor that it owns. */
  readonly fd?: number
  /** Told to the report of what keeps the process alive. */
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

/** What is added beside the thing itself, where the present moment does not show it. */
export interface EntryContext {
  readonly origin?: Origin
  readonly trace?: Trace
}

const PRUNE_EVERY = 5000

/**
 * All things that were created while anybody watches, until they are gone.
 *
 * Serial numbers are shared with births (see {@link Births}), so that the order is known across both.
 */
export class Ledger {
  /** The serial number at which the last of those who watch began. What only concerns things made since need not be entered. */
  newestWatch = 0
  /** What some watch has thrown already. */
  readonly reported: Set<Entry | string> = new Set()
  readonly #entries = new Set<Entry>()
  readonly #setters = new Map<string, EntryContext>()
  #serial = 0
  #pass = 0

  /** The number that the next entry or birth gets. */
  get serial(): number {
    return this.#serial
  }

  /** Changes with every check of all things, so that a tracker can ask what many of them share only once. */
  get pass(): number {
    return this.#pass
  }

  /** Takes the next number. */
  nextSerial(): number {
    return this.#serial++
  }

  /** Enters a thing that was created just now. */
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

  /** Remembers that the present caller changes a state of the process. */
  noteSetter(state: string): void {
    this.#setters.set(state, { trace: takeTrace(), origin: currentOrigin() })
  }

  /** Who has changed a state of the process last, where that could be seen. */
  setterOf(state: string): EntryContext | undefined {
    return this.#setters.get(state)
  }

  /** Strikes out a thing that is gone. */
  remove(entry: Entry): void {
    this.#entries.delete(entry)
  }

  /** The things that are there and were created by a term, or since `serial` by anybody. */
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
