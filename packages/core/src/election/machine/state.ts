import type { DrainState, Empty } from '../../drain/machine.ts'
import type { LeaseRecord } from '../../lock/lease-record.ts'
import type { PresentLease } from '../../lock/lock.ts'
import type { InvoluntaryEndReason } from '../leadership-ended-error.ts'
import type { Bequest } from '../rules/bequest.ts'
import type { ElectorEffect, LeaseWrite } from './effect.ts'
import type { StepDown, TermKey } from './event.ts'

/** The state of the machine. It remembers nothing else. */
export type ElectorState =
  Idle | Following | Acquiring | Reserving | Leading | Draining | Aborting | Releasing | Stopped

/** The state of this kind. */
export type StateOf<K> = Extract<ElectorState, { kind: K }>

/** The next state, and the effects to carry out. */
export interface Step {
  readonly state: ElectorState
  readonly effects: readonly ElectorEffect[]
}

/** Not started. */
interface Idle {
  readonly kind: 'idle'
  readonly memory: Memory
}

/** Competing for the lease without holding it. */
export interface Following {
  readonly kind: 'following'
  readonly memory: Memory
  readonly observation: Observation
  /** Acquiring writes of unknown outcome. Each may take effect late, or never. */
  readonly outstanding: readonly SentWrite[]
  /** The number of the read in flight. */
  readonly reading: number | undefined
  /** The newest version that was known when the read was sent. A read that finds an older version shows a restored store. */
  readonly readingAfter: bigint | undefined
  /** When to read the lease; undefined while the watch is connected and nothing is in doubt. */
  readonly pollAt: number | undefined
  /** No acquiring write before this time. */
  readonly notBefore: number
  /** The reason for `notBefore`. */
  readonly pause: 'cool-down' | 'failure'
  /** The offer of the present term, if this replica may answer it. */
  readonly offer: SeenOffer | undefined
  /** What became of putting this replica on the list of standbys in the present term. */
  readonly announcement: Announcement | undefined
  /** How long to hold back before acquiring a lease that all followers saw become free at the same time. */
  readonly holdBackMs: number
  /** Set after a stop while an acquiring write is in doubt. The elector stops waiting at this time. */
  readonly leaveBy: number | undefined
}

/** The offer of a leader, as seen by a follower. */
export interface SeenOffer {
  readonly term: TermKey
  /** No answer before this time. */
  readonly answerAt: number
  /** Whether another replica has answered. */
  readonly isTaken: boolean
  /** Since when this replica lets all others answer first, because it is about to be stopped. */
  readonly givesWaySince?: number | undefined
  /** The answering write in flight. */
  readonly request: { readonly number: number; readonly base: bigint } | undefined
  /** The version on which an answer was refused. Only a newer version can be answered. */
  readonly refused: bigint | undefined
}

/** This replica is to be on the list of standbys of a term. */
export interface Announcement {
  readonly term: TermKey
  /** Whether this replica is to be off the list instead: it stops, is not ready, or never leads. */
  readonly isLeaving: boolean
  /** How many times the write was sent. */
  readonly attempts: number
  /** No write before this time; undefined while this replica does not belong on the list, or the time is not known yet. */
  readonly dueAt: number | undefined
  /** The number of the write in flight. */
  readonly request: number | undefined
  /** Under a holder that keeps no list: the change of the record after which the last write was sent. One write follows a renewal. */
  readonly sentAfter: number | undefined
  /** How many times longer than for a free lease this replica waits; undefined where that no longer changes, as after a write. */
  readonly pace: number | undefined
  /** Why this replica is to write itself on the list. */
  readonly reason?: AnnouncementReason
  /** Whether the warm-ups of this replica were not ready. */
  readonly isCold?: boolean
  /** When the last write was sent. */
  readonly sentAt?: number
}

/**
 * `join`: there is room for it. `best`: it is better than the leader and all standbys. `refresh`: the list names it, but says something
 * else of it.
 */
export type AnnouncementReason = 'join' | 'best' | 'refresh'

/** An acquiring write is in flight. */
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

/** The lease is held and renewed, but this replica must not act yet. */
export interface Reserving {
  readonly kind: 'reserving'
  readonly memory: Memory
  readonly hold: Hold
  /** The version of the acquiring write. */
  readonly epoch: bigint
  readonly freeSince: number
  readonly actAt: number
  /** The deleted lease that this one follows on directly, and when this replica may act if the holder of that lease is proved dead. */
  readonly replaced?: { readonly record: LeaseRecord; readonly notBefore: number } | undefined
}

/** A term is in force. */
export interface Leading {
  readonly kind: 'leading'
  readonly memory: Memory
  readonly hold: Hold
  readonly epoch: bigint
  readonly proposal?: Proposal | undefined
  /** The request to hand over that this leader declines, until the lease no longer has it. */
  readonly declined?: string | undefined
  /** Where replicas follow a strategy: since when it leads. */
  readonly since?: number
  /** If this leader is about to be stopped: when it may hand over, and whether that time has come. */
  readonly departure?: { readonly at: number; readonly isDue: boolean } | undefined
}

/** A replica to which the leader offers the lease. */
interface Proposal {
  readonly to: string
  /** Until when it may answer; undefined until the offer was sent. */
  readonly until: number | undefined
}

/** A voluntary end: the lease is renewed until the term is empty. */
export interface Draining {
  readonly kind: 'draining'
  readonly memory: Memory
  readonly hold: Hold
  readonly epoch: bigint
  /** The stage of the drain. While `empty`, this replica waits for a renewal in flight or for an answer. */
  readonly drain: DrainState
  readonly stepDown: StepDown
  readonly offer: OfferMade
  /** The last answer, and since when it is there. */
  readonly answered: { readonly nonce: string; readonly since: number } | undefined
  /** Until when an empty term waits for an answer. */
  readonly answerBy: number
  /** What the term leaves, once it is empty. */
  readonly bequest?: Bequest | undefined
  readonly afterwards: 'follow' | 'stop'
}

/** The stage of the offer to transfer the lease. */
type OfferMade =
  { readonly kind: 'none' } | { readonly kind: 'planned'; readonly at: number } | { readonly kind: 'made' }

/** An involuntary end: no more writes are sent, and the term must be empty in time. */
export interface Aborting {
  readonly kind: 'aborting'
  readonly memory: Memory
  readonly observation: Observation
  readonly epoch: bigint
  readonly reason: InvoluntaryEndReason
  readonly validUntil: number
  readonly drain: DrainState
  /** Set if the term was already ending voluntarily. */
  readonly stepDown: StepDown | undefined
  readonly afterwards: 'follow' | 'stop'
}

/** The term is empty, and the lease is being released. */
export interface Releasing {
  readonly kind: 'releasing'
  readonly memory: Memory
  readonly hold: Hold
  /** The proof that nothing of the term is left. */
  readonly drain: Empty
  /** Undefined when the lease is released before a term began. */
  readonly epoch: bigint | undefined
  readonly giveUpAt: number
  readonly cooldownMs: number
  /** Which answers turn the release into a transfer. */
  readonly accepts: AcceptedAnswers | undefined
  readonly bequest?: Bequest | undefined
  readonly afterwards: 'follow' | 'stop'
}

/** Which answers a leader accepts. */
export interface AcceptedAnswers {
  /** The replica that may answer; undefined if any may. */
  readonly to: string | undefined
  /** The nonce of an answer that is too old. */
  readonly except: string | undefined
}

/** Stopped for good. */
interface Stopped {
  readonly kind: 'stopped'
  readonly memory: Memory
}

/** What the machine remembers across states. */
export interface Memory {
  /** The number of the last request. Requests are numbered from 1. */
  readonly requests: number
  readonly watch: 'up' | 'down'
  /** Since when the watch is in this state. */
  readonly watchSince: number
  /**
   * Whether the last view was older than the known lease, or had its version and another record: the watch lags, or the store was restored. A
   * follower then waits for a newer view or a read before it writes.
   */
  readonly isBehind: boolean
  /** The first version of the lease that this replica saw. */
  readonly since: bigint | undefined
  /** The identity of the last observed leader. */
  readonly observedLeader: string | undefined
  /** Whether the lease ever existed. Creating it again after that does not prove that no leader acts. */
  readonly existed: boolean
  /** The last record that this process wrote and still holds. */
  readonly own: LeaseRecord | undefined
  /** Set when this process created a lease in place of a deleted one, or a coordinator named it. Until then another leader may act. */
  readonly actNotBefore: number | undefined
  /** The answers of this replica to the offer of a leader. Set while it may become the successor. */
  readonly candidate: Candidate | undefined
  /** The greatest epoch that this replica knows of. */
  readonly highestEpoch: bigint
  /** A holder whose process has provably ended, and since when that is known. */
  readonly deadHolder: (TermKey & { readonly since: number }) | undefined
  /** The standby that did not answer a proposal, until the list no longer names it. */
  readonly missed?: string | undefined
  /** Where leaders lead for life: the longest duration that any holder stated, in milliseconds. A holder that sees nothing acts that long. */
  readonly longestHeldMs?: number | undefined
  /** Where replicas follow a strategy: this replica stepped down, and does not join the standbys before this time. */
  readonly restsUntil?: number | undefined
}

/** A replica that answered the offer of one term. */
export interface Candidate {
  readonly term: TermKey
  /** The answers that may be stored, oldest first. A nonce is used once: they are dropped when a term begins. */
  readonly sent: readonly SentAnswer[]
  /** Whether one of them is stored in the last view of the lease. */
  readonly stands: boolean
}

/** An answer, and when it was sent. A transfer that echoes it was written later. */
export interface SentAnswer {
  readonly nonce: string
  readonly sentAt: number
}

/** The lease as this replica last saw it. */
export type Observation =
  | { readonly kind: 'unknown' }
  | View
  /** A refused write showed that the lease changed after this view. The new version was not seen yet. */
  | { readonly kind: 'outdated'; readonly last: View }

/** The lease at one version, and since when its record is unchanged. */
export type View =
  | {
      readonly kind: 'absent'
      /** The version of the store at which the lease was absent; if the store does not report it, the last version that was seen. */
      readonly version?: bigint | undefined
      readonly since: number
      /** Until when the holder of the deleted lease may act; undefined if none was seen. */
      readonly guardedUntil?: number | undefined
      /** The duration that this holder stated, in milliseconds; undefined if none was seen. */
      readonly heldMs?: number | undefined
      /** The record that was deleted, if holders keep the lease for life and the store told it. */
      readonly deleted?: LeaseRecord | undefined
    }
  | {
      readonly kind: 'present'
      readonly lease: PresentLease
      readonly changedAt: number
      /** Whether a client that does not know the standbys renewed at that moment. The first view and an acquisition are no renewals. */
      readonly isRenewal: boolean
      /** The time between the last two renewals that were seen; undefined before the second. */
      readonly renewedAfterMs: number | undefined
      /** Until when its holder may act by its own last record, whatever others changed since. */
      readonly guardedUntil: number
      /** The longest duration in the records of this term, in milliseconds. Infinity as long as none is certain to be what the holder states. */
      readonly longestMs: number
    }

export type PresentView = Extract<View, { kind: 'present' }>

/** A write that was sent. */
export interface SentWrite extends LeaseWrite {
  readonly request: number
  readonly sentAt: number
}

/** A lease that this replica holds. */
export interface Hold {
  /** The lease as this replica last wrote it. Foreign fields may have changed since. */
  readonly lease: PresentLease
  /** When the last acknowledged write that others see as a renewal was sent. */
  readonly sentAt: number
  readonly validUntil: number
  readonly deadlineAt: number
  /** The values of these two before an edit of the record shortened them. The next acknowledged write restores them. */
  readonly uncut: Pick<Hold, 'validUntil' | 'deadlineAt'> | undefined
  readonly request: HoldRequest
  /** Writes whose outcome is unknown. */
  readonly outstanding: readonly SentWrite[]
  /** The recent latency of writes, in milliseconds. */
  readonly writeMs: number
}

/** The next or current request of a holder. There is never more than one. */
export type HoldRequest =
  | { readonly kind: 'waiting'; readonly at: number }
  /** `dueAt` is when the write should have been sent. */
  | { readonly kind: 'writing'; readonly write: SentWrite; readonly dueAt: number }
  /** `after` is the version of the lease that was known when the read was sent. */
  | { readonly kind: 'reading'; readonly request: number; readonly after: bigint }
