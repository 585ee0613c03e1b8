import type { Lock } from '@tenure/core'

/** A lease that no other case uses, and the means to reach it. Disposing it closes its locks. */
export interface LockFixture extends AsyncDisposable {
  /** Makes a client of the lease. The first one finds the lease absent. */
  openLock(): Lock
  /** Deletes the lease behind the back of the locks. */
  deleteLease(): Promise<void>
}

/** Means to see whether writes keep what other clients have put on a lease. */
interface ForeignData<Fixture extends LockFixture> {
  /** Puts labels, annotations or fields on the stored lease that no lock writes. */
  put(fixture: Fixture): Promise<void>
  /** Returns what is left of them, in a form that can be compared. */
  read(fixture: Fixture): Promise<unknown>
}

/** How to open the same lease in another process. */
export interface LockModule {
  /** The URL of a module that exports `openLock(argument)`, which returns the lock or a promise of it. */
  readonly module: string | URL
  /** Handed to `openLock()`, by way of JSON: which lease, and where. */
  readonly argument?: unknown
  /** Options of Node for that process. @default those of this process */
  readonly execArgv?: readonly string[]
}

/** How to keep the locks of a fixture from their store for a while. */
export interface LockOutage<Fixture extends LockFixture> {
  /** From its end on no lock reaches the store, and what is connected is cut off. */
  begin(fixture: Fixture): Promise<void>
  /** From its end on locks reach the store again. */
  end(fixture: Fixture): Promise<void>
}

/** How the suite gets at the locks it is about. */
export interface LockConformanceOptions<Fixture extends LockFixture = LockFixture> {
  readonly createFixture: () => Fixture | Promise<Fixture>
  /** Leave out where nobody but a lock can put anything on a lease; the case about it is left out then. */
  readonly foreignData?: ForeignData<Fixture>
  /**
   * How to open the lease of a fixture in another process. `none` says that the lock is for the candidates of one process: then
   * nothing is checked between processes, and a lock that excludes within one process only passes.
   */
  readonly otherProcess: 'none' | ((fixture: Fixture) => LockModule)
  /**
   * How to keep locks from their store. `none` says that there is no way between them that could break: then nobody checks that a
   * watch says `down`, and that an abort ends a request which gets no answer.
   */
  readonly outage: 'none' | LockOutage<Fixture>
  /** How long the suite waits for writes that must not land any more, in milliseconds. @default 1000 */
  readonly lateMs?: number
  /** How long the suite waits for a change to be reported, in milliseconds. @default 10000 */
  readonly patienceMs?: number
}

/** One requirement. */
export interface LockConformanceCase {
  /** A sentence that says what a lock does. */
  readonly name: string
  /** Rejects when the lock does not. */
  readonly run: () => Promise<void>
}

/** A requirement of which the fixture and the patience are not known yet. */
export interface LockRequirement<Fixture extends LockFixture = LockFixture> {
  readonly name: string
  readonly check: (fixture: Fixture, context: CaseContext) => Promise<void>
}

/** What a requirement is checked with besides the fixture. */
interface CaseContext {
  readonly patienceMs: number
  readonly lateMs: number
}
