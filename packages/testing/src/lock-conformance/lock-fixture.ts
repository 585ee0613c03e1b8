import type { Lock } from '@tenure/core'

/** A lease that no other case uses, and the means to reach it. Disposing it closes its locks. */
export interface LockFixture extends AsyncDisposable {
  /** Makes a client of the lease. The first one finds the lease absent. */
  openLock(): Lock
  /** Deletes the lease behind the back of the locks. */
  deleteLease(): Promise<void>
}

/** Checks that writes keep the data that other clients put on a lease. */
interface ForeignData<Fixture extends LockFixture> {
  /** Puts labels, annotations or fields on the stored lease that no lock writes. */
  put(fixture: Fixture): Promise<void>
  /** Returns the data that is still there, in a form that can be compared. */
  read(fixture: Fixture): Promise<unknown>
}

/** How to open the same lease in another process. */
export interface LockModule {
  /** The URL of a module that exports `openLock(argument)`, which returns the lock or a promise of it. */
  readonly module: string | URL
  /** The argument of `openLock()`, serialized as JSON: which lease, and where. */
  readonly argument?: unknown
  /** Options of Node for that process. @default those of this process */
  readonly execArgv?: readonly string[]
}

/** Disconnects the locks of a fixture from their store for some time. */
export interface LockOutage<Fixture extends LockFixture> {
  /** When this resolves, no lock can reach the store and open connections are cut. */
  begin(fixture: Fixture): Promise<void>
  /** When this resolves, locks can reach the store again. */
  end(fixture: Fixture): Promise<void>
}

/** How the suite reaches the locks under test. */
export interface LockConformanceOptions<Fixture extends LockFixture = LockFixture> {
  /** Makes a fixture with an empty store. The suite calls it for every case. */
  readonly createFixture: () => Fixture | Promise<Fixture>
  /** Omit this if only locks can write to a lease. The suite then skips the case. */
  readonly foreignData?: ForeignData<Fixture>
  /**
   * How to open the lease of a fixture in another process. `none` means that all candidates are in one process. The suite then checks
   * nothing between processes, so a lock that only excludes within one process passes.
   */
  readonly otherProcess: 'none' | ((fixture: Fixture) => LockModule)
  /**
   * How to disconnect locks from their store. `none` means that this connection cannot fail. The suite then does not check that a
   * watch reports `down`, or that an abort ends a request without an answer.
   */
  readonly outage: 'none' | LockOutage<Fixture>
  /** How long the suite waits for late writes, which must not land, in milliseconds. @default 1000 */
  readonly lateMs?: number
  /** How long the suite waits for a change to be reported, in milliseconds. @default 10000 */
  readonly patienceMs?: number
}

/** One requirement. */
export interface LockConformanceCase {
  /** The requirement, as a sentence about the lock. */
  readonly name: string
  /** Rejects if the lock does not meet the requirement. */
  readonly run: () => Promise<void>
}

/** A requirement before its fixture and its time limits are known. */
export interface LockRequirement<Fixture extends LockFixture = LockFixture> {
  readonly name: string
  readonly check: (fixture: Fixture, context: CaseContext) => Promise<void>
}

/** The time limits of a check. */
interface CaseContext {
  readonly patienceMs: number
  readonly lateMs: number
}
