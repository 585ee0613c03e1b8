import { TermEndedError } from '../term-ended-error.ts'

/**
 * Why a replica gives up a term of its own accord. Renewals go on until the term is empty. `transferred`: to be handed to a replica
 * that was named.
 */
export type VoluntaryEndReason = 'shutdown' | 'step-down' | 'transferred' | 'controller-failed'

/**
 * Why a term ends against the replica's will. Renewals stop and everything must be gone before anybody else may lead. `stalled`: the
 * process was paused for too long. `elector-failed`: an error of the elector or of the lock that it drives.
 */
export type InvoluntaryEndReason = 'renew-deadline' | 'superseded' | 'lease-deleted' | 'stalled' | 'elector-failed'

/** Why a term ended. */
export type EndReason = VoluntaryEndReason | InvoluntaryEndReason

/** The reason of every abort signal of a term, and what refused work of an ended term rejects with. */
export class LeadershipEndedError extends TermEndedError {
  override readonly code = 'LEADERSHIP_ENDED'
  /** Why the term ended. */
  readonly reason: EndReason
  /** The epoch of the term that ended; undefined for always-on controllers. */
  readonly epoch: bigint | undefined

  constructor(reason: EndReason, epoch: bigint | undefined, options?: ErrorOptions) {
    super(`${epoch === undefined ? 'The controller' : `The term with epoch ${epoch}`} has ended: ${reason}`, options)
    this.reason = reason
    this.epoch = epoch
  }
}
