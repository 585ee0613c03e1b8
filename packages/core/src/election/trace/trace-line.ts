import type { Coordinator } from '../../lock/lock.ts'
import type { LockFailure } from '../../lock/lock-request-error.ts'
import type { EndReason } from '../leadership-ended-error.ts'
import type { WedgedPolicy } from '../machine/config.ts'
import type { TermOutcome } from '../machine/effect.ts'
import type { ElectorEvent } from '../machine/event.ts'
import type { ElectorState } from '../machine/state.ts'

/*
 * The lines of a trace, as JSON. Keys are short, because a leader writes a line every second and the checker reads them all. Times are in
 * milliseconds with three decimals. A version is a number; beyond 2^53 it is a string.
 */

/** The version of the format. */
export const TRACE_FORMAT = 1

/** A version of the lease, or an epoch. */
export type TraceVersion = number | string

/** The first line of an elector: what it was started with. */
export interface TraceHeader {
  /** The number of the elector in its file. */
  readonly elector: number
  /** The version of the format. */
  readonly format: number
  /** Where the process runs. Times of one machine can be compared. */
  readonly machine: string
  /** The lock, as in `Lock.description`. */
  readonly lock: string
  /** The identity of the replica. */
  readonly identity: string
  /** `leaseDurationMs`. */
  readonly leaseMs: number
  /** `clockRateTolerance`, as a share. */
  readonly tolerance: number
  /** How long a request may take. */
  readonly requestMs: number
  /** `acquireDelayMs`. */
  readonly acquireDelayMs: number
  /** Whether peers compare times in whole seconds. */
  readonly wholeSeconds: boolean
  /** Whether the replica waits before it acts where there was no lease. */
  readonly missingLease: 'create' | 'wait'
  /** Whether the holder keeps the lease for life, without renewals. */
  readonly heldForLife: boolean
  /** What happens to a replica whose drain does not end. */
  readonly onWedged: WedgedPolicy
}

/** One step of an elector. */
export interface TraceLine {
  /** The elector. */
  readonly p: number
  /** The number of the step, from 1. */
  readonly n: number
  /** The clock of the machine, read after the decision and before the elector acts. */
  readonly m: number
  /** At most so long before `m` the elector decided, by its own clock. Absent if it is 0. */
  readonly j?: number
  /** The clock of the elector: what it decided by. It includes suspensions of the machine. */
  readonly t: number
  /** The wall clock, to the millisecond. Absent if it has gone on with `t`, give or take 2 ms, since the last line that has it. */
  readonly w?: number
  /** The event. */
  readonly e: ElectorEvent['kind']
  /** The state after the step. */
  readonly s: ElectorState['kind']
  /** The request that was answered. */
  readonly q?: number
  /** Why the request failed. */
  readonly f?: LockFailure
  /** The version of the lease that was seen, or of the store in which it was missing. */
  readonly v?: TraceVersion
  /** The epoch of a term that begins with this version, if it is not the version. */
  readonly k?: TraceVersion
  /** The record that was seen. */
  readonly r?: TraceRecord
  /** Whether the lease that was seen is being deleted. */
  readonly x?: true
  /** The record that was deleted directly before this lease was created, if the store shows that. */
  readonly g?: TraceRecord
  /** The holder that is proved dead. */
  readonly h?: string
  /** When that holder acquired the lease. */
  readonly a?: string
  /** Who decides which replica leads, if it may be a coordinator. */
  readonly c?: Coordinator['state']
  /** What the elector does. */
  readonly d?: readonly TraceAct[]
}

/** A record of the lease. An absent key is an absent field. */
export interface TraceRecord {
  /** The holder; empty if there is none. */
  readonly h: string
  /** The duration in seconds. */
  readonly d?: number
  /** When it was acquired. */
  readonly a?: string
  /** When it was renewed. */
  readonly r?: string
  /** The transitions. */
  readonly n?: number
  /** The least epoch. */
  readonly e?: TraceVersion
  /** The nonce of the transfer. */
  readonly x?: string
  /** The answer to the offer: who, and the nonce. */
  readonly y?: readonly [identity: string, nonce: string]
  /** Whether the lease is offered. */
  readonly o?: true
  /** The holder that a coordinator prefers. */
  readonly p?: string
}

/** What an elector does in a step. */
export type TraceAct = TraceWrite | TraceRead | TraceBegin | TraceUntil | TraceEnd | TraceOver | TraceOther

/** A write is sent. */
export interface TraceWrite {
  /** What the write is for. */
  readonly u: 'acquire' | 'renew' | 'release' | 'transfer' | 'answer' | 'announce'
  /** The number of the request. */
  readonly q: number
  /** The version that it replaces; absent if it creates the lease. */
  readonly b?: TraceVersion
  /** The record that it writes. */
  readonly r: TraceRecord
  /** Whether it only checks that the lease is still held, because its holder keeps it for life. */
  readonly i?: true
}

/** A read is sent. */
interface TraceRead {
  readonly u: 'read'
  readonly q: number
}

/** A term begins. */
interface TraceBegin {
  readonly u: 'begin'
  readonly k: TraceVersion
  readonly until: number
}

/** The term may act until then. */
interface TraceUntil {
  readonly u: 'until'
  readonly until: number
}

/** The term begins to end. */
interface TraceEnd {
  readonly u: 'end'
  readonly why: EndReason
  readonly voluntary: boolean
}

/** The term is over. */
interface TraceOver {
  readonly u: 'over'
  readonly outcome: TermOutcome
}

/** Anything else that the checker reads. */
export interface TraceOther {
  readonly u: 'close-gate' | 'hard-abort' | 'wedged' | 'exit' | 'stopped' | 'identity-taken'
}
