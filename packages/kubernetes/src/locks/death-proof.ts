import type { LockWatch } from '@tenure/core'
import type { HolderObserver, LeaseHolder } from '@tenure/core/internal'

/** Finds out whether the process of a holder has ended. Several locks may share one. */
export interface DeathProof {
  /** The reference that identifies this process to other replicas; undefined until it is known. */
  readonly processRef: string | undefined
  /** Watches the process of a holder. @see HolderObserver.dead for what counts as proof */
  watchHolder(holder: LeaseHolder, observer: HolderObserver): LockWatch
}
