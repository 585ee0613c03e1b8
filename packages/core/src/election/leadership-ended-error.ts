import { TermEndedError } from '../term-ended-error.ts'

/**
 * Why a replica gives up a term of its own accord. Renewals go on until the term is empty. `transferred`: to be handed to a replica
 * that was named.
 */
export type VoluntaryEndReason = 'shutdown' | 'step-down' | 'transferred' | 'controller-failed'

/** Why a term ends against the replica's will. Renewals stop and everything must be gone before anybody else may lead. */
export type InvoluntaryEndReason = 'renew-deadline' | 'superseded' | 'lease-deleted' | 'stalled'

/** Why a term ended. */
export type EndReason = VoluntaryEndReason | InvoluntaryEndReason

/** The reason of every abort signal of a term, and what refused work of an ended term rejects with. */
export class LeadershipEndedError extends TermEndedError {
  override readonly code = 'LEADERSHIP_ENDED'
  readonly reason: EndReason
  /** The epoch of the term that ended; 0 for work that needs no leadership. */
  readonly epoch: bigint

  constructor(reason: EndReason, epoch: bigint, options?: ErrorOptions) {
    super(`The term with epoch ${epoch} has ended: ${reason}`, options)
    this.reason = reason
    this.epoch = epoch
  }
}
