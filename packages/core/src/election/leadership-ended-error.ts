import { TermEndedError } from '../term-ended-error.ts'

/**
 * Why a replica ends a term voluntarily. Renewals continue until the term is empty. `transferred`: to hand the lease to a named replica.
 */
export type VoluntaryEndReason = 'shutdown' | 'step-down' | 'transferred' | 'controller-failed'

/**
 * Why a term ends involuntarily. Renewals stop, and the term must be empty before another replica may lead. `stalled`: the process was
 * paused for too long. `elector-failed`: the elector or its lock has failed.
 */
export type InvoluntaryEndReason = 'renew-deadline' | 'superseded' | 'lease-deleted' | 'stalled' | 'elector-failed'

/** Why a term ended. */
export type EndReason = VoluntaryEndReason | InvoluntaryEndReason

/** The reason of the abort signals of a term, and the error of work that an ended term refuses. */
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
