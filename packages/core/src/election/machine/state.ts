import type { DrainState, Empty } from '../../drain/machine.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import type { ElectorEffect, LeaseWrite } from './effect.ts'
import type { StepDown, TermKey } from './event.ts'

/** What an elector is doing. One value of this type is all that the machine remembers. */
export type ElectorState =
  Idle | Following | Acquiring | Reserving | Leading | Draining | Aborting | Releasing | Stopped

/** The state of this kind. */
export type StateOf<K> = Extract<ElectorState, { kind: K }>

/** A state and what has to be done on entering it. */
export interface Step {
  readonly state: ElectorState
  readonly effects: readonly ElectorEffect[]
}

/** Not standing yet. */
interface Idle {
  readonly kind: 'idle'
  readonly memory: Memory
}

/** Standing for election; somebody else leads, or nobody does. */
export interface Following {
  readonly kind: 'following'
  readonly memory: Memory
  readonly observation: Observation
  /** Acquiring writes whose outcome is unknown: each may take effect late, or never. */
  readonly outstanding: readonly SentWrite[]
  /** The read that is under way. */
  readonly reading: number | undefined
  /** The newest version that was known when it was sent. A consistent read that finds an older one shows a restored store. */
  readonly readingAfter: bigint | undefined
  /** When to read the lease; never while a watch is up and nothing is in doubt. */
  readonly pollAt: number | undefined
  /** No acquiring write before this time. */
  readonly notBefore: number
  /** Why that is so. */
  readonly pause: 'cool-down' | 'failure'
  /** The offer of the present term, if this replica may answer it. */
  readonly offer: SeenOffer | undefined
  /** What became of putting this replica on the list of standbys in the present term. */
  readonly announcement: Announcement | undefined
  /** How long to hold back before a lease that others see become free at the same moment. */
  readonly holdBackMs: number
  /** Set after a stop while an acquiring write is in doubt: the elector stops reading back at this time. */
  readonly leaveBy: number | undefined
}

/** An offer that was seen. */
export interface SeenOffer {
  readonly term: TermKey
  /** No answer before this time. */
  readonly answerAt: number
  /** Whether somebody else has answered. */
  readonly isTaken: boolean
  /** The answering write that is under way. */
  readonly request: { readonly number: number; readonly base: bigint } | undefined
  /** The version on which an answer was refused: only a newer one can be answered. */
  readonly refused: bigint | undefined
}

/** This replica is to be on the list of standbys of a term. */
export interface Announcement {
  readonly term: TermKey
  /** How many times it was sent. */
  readonly attempts: number
  /** No write before this time; undefined while this replica does not belong on the list, or the time is not known yet. */
  readonly dueAt: number | undefined
  /** The write that is under way. */
  readonly request: number | undefined
}

/** An acquiring write is under way. */
export interface Acquiring {
  readonly kind: 'acquiring'
  readonly memory: Memory
  readonly observation: Observation
  readonly outstanding: readonly SentWrite[]
  readonly write: SentWrite
  /** When the lease was seen to be free. */
  readonly freeSince: number
  readonly afterwards: 'lead' | 'stop'
}

/** The lease is held and renewed, but it is too early to act. */
export interface Reserving {
  readonly kind: 'reserving'
  readonly memory: Memory
  readonly hold: Hold
  /** The version of the acquiring write. */
  readonly epoch: bigint
  readonly freeSince: number
  readonly actAt: number
}

/** A term is in force. */
export interface Leading {
  readonly kind: 'leading'
  readonly memory: Memory
  readonly hold: Hold
  readonly epoch: bigint
}

/** A voluntary end: the lease is renewed until the term is empty. */
export interface Draining {
  readonly kind: 'draining'
  readonly memory: Memory
  readonly hold: Hold
  readonly epoch: bigint
  /** How far it has come. `empty`: a renewal under way, or an answer, is waited for. */
  readonly drain: DrainState
  readonly stepDown: StepDown
  readonly offer: OfferMade
  /** The answer that was seen last, and since when. */
  readonly answered: { readonly nonce: string; readonly since: number } | undefined
  /** Until when an empty term waits for an answer. */
  readonly answerBy: number
  readonly afterwards: 'follow' | 'stop'
}

/** How far a leader has come with its offer to transfer the lease. */
type OfferMade =
  { readonly kind: 'none' } | { readonly kind: 'planned'; readonly at: number } | { readonly kind: 'made' }

/** An involuntary end: no write is sent any more, and the term must be empty in time. */
export interface Aborting {
  readonly kind: 'aborting'
  readonly memory: Memory
  readonly observation: Observation
  readonly epoch: bigint
  readonly reason: InvoluntaryEndReason
  readonly validUntil: number
  readonly drain: DrainState
  /** Set when the term was ending voluntarily before. */
  readonly stepDown: StepDown | undefined
  readonly afterwards: 'follow' | 'stop'
}

/** The term is empty and the lease is being freed. */
export interface Releasing {
  readonly kind: 'releasing'
  readonly memory: Memory
  readonly hold: Hold
  /** The proof that nothing of the term is left. */
  readonly drain: Empty
  /** Undefined when the lease is given back before any term began. */
  readonly epoch: bigint | undefined
  readonly giveUpAt: number
  readonly cooldownMs: number
  /** Which answers turn the release into a transfer. */
  readonly accepts: AcceptedAnswers | undefined
  readonly afterwards: 'follow' | 'stop'
}

/** Which answers a leader accepts. */
export interface AcceptedAnswers {
  /** Only those of this replica; of any where undefined. */
  readonly to: string | undefined
  /** The nonce of an answer that is too old. */
  readonly except: string | undefined
}

/** Stands no more. */
interface Stopped {
  readonly kind: 'stopped'
  readonly memory: Memory
}

/** What outlives every single state. */
export interface Memory {
  /** How many requests were sent; the number of the last one. */
  readonly requests: number
  readonly watch: 'up' | 'down'
  /** Since when the watch is up or down. */
  readonly watchSince: number
  /** The first version of the lease that this replica saw. */
  readonly since: bigint | undefined
  /** Who was last seen to lead. */
  readonly observedLeader: string | undefined
  /** Whether the lease was ever seen to exist. Creating it again after that does not prove that no leader acts. */
  readonly existed: boolean
  /** The record that this process wrote last and has not given up since. */
  readonly own: LeaseRecord | undefined
  /** Set once this process created a lease in place of a deleted one: until then a leader may act who does not know. */
  readonly actNotBefore: number | undefined
  /** What this replica answered to the offer of a leader. Set for as long as it may become the successor. */
  readonly candidate: Candidate | undefined
  /** No epoch that was handed out, as far as this replica knows, is greater. */
  readonly highestEpoch: bigint
  /** A holder that is proved dead, and since when that is known. */
  readonly deadHolder: (TermKey & { readonly since: number }) | undefined
}

/** A replica that answered the offer of one term. */
export interface Candidate {
  readonly term: TermKey
  /** The answers that may be stored, oldest first. A nonce serves once: they are forgotten as soon as a term is reached. */
  readonly sent: readonly SentAnswer[]
  /** Whether one of them was seen to be stored, and that is the last that was seen. */
  readonly stands: boolean
}

/** An answer, and when it was sent: a transfer that echoes it was written later than that. */
export interface SentAnswer {
  readonly nonce: string
  readonly sentAt: number
}

/** The lease as this replica last saw it. */
export type Observation =
  | { readonly kind: 'unknown' }
  | View
  /** A refused write has shown that the lease changed since this view; the change itself was not seen yet. */
  | { readonly kind: 'outdated'; readonly last: View }

/** The lease at one version, and since when it is as it is. */
export type View =
  | { readonly kind: 'absent'; readonly since: number }
  | {
      readonly kind: 'present'
      readonly lease: PresentLease
      readonly changedAt: number
      /** From the last renewal that was seen to this one; undefined before the second. */
      readonly renewedAfterMs: number | undefined
      /** Until when its holder may act by what it wrote itself, whatever others made of the record since. */
      readonly guardedUntil: number
    }

export type PresentView = Extract<View, { kind: 'present' }>

/** A write that was sent. */
export interface SentWrite extends LeaseWrite {
  readonly request: number
  readonly sentAt: number
}

/** A lease that this replica holds. */
export interface Hold {
  /** The lease as this replica last wrote it, or with foreign fields changed since. */
  readonly lease: PresentLease
  /** When the last write was sent that others see as a renewal and that is known to have happened. */
  readonly sentAt: number
  readonly validUntil: number
  readonly deadlineAt: number
  /** What these two are again when the next write is acknowledged, where an edit of the record has cut them short. */
  readonly uncut: Pick<Hold, 'validUntil' | 'deadlineAt'> | undefined
  readonly request: HoldRequest
  /** Writes whose outcome is unknown. */
  readonly outstanding: readonly SentWrite[]
  /** How long a write takes of late until it is known to have happened. */
  readonly writeMs: number
}

/** The next or present request of a holder; there is never more than one. */
export type HoldRequest =
  | { readonly kind: 'waiting'; readonly at: number }
  /** `dueAt` is when the write was to be sent. */
  | { readonly kind: 'writing'; readonly write: SentWrite; readonly dueAt: number }
  /** `after` is the version of the lease that was known when the read was sent. */
  | { readonly kind: 'reading'; readonly request: number; readonly after: bigint }
