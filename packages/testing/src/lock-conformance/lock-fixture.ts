import type { Lock } from '@tenure/core'

/** A lease that no other case uses, and the means to reach it. Disposing it closes its locks. */
export interface LockFixture extends AsyncDisposable {
  /** Makes a client of the lease. The first one finds the lease absent. */
  openLock(): Lock
  /** Deletes the lease behind the back of the locks. */
  deleteLease(): Promise<void>
}

/** Means to see whether writes keep what other clients have put on a lease. */
export interface ForeignData<Fixture extends LockFixture> {
  /** Puts labels, annotations or fields on the stored lease that no lock writes. */
  put(fixture: Fixture): Promise<void>
  /** Returns what is left of them, in a form that can be compared. */
  read(fixture: Fixture): Promise<unknown>
}

/** How the suite gets at the locks it is about. */
export interface LockConformanceOptions<Fixture extends LockFixture = LockFixture> {
  readonly createFixture: () => Fixture | Promise<Fixture>
  /** Leave out where nobody but a lock can put anything on a lease; the case about it is left out then. */
  readonly foreignData?: ForeignData<Fixture>
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
}
