/** One start of one replica, as the oracles see it. */
export interface ProcessLife {
  readonly identity: string
  readonly isAlive: boolean
  /** Whether it was asked to stop. */
  readonly isStopping: boolean
  /** How good a candidate it is; undefined if it is none, or if replicas do not agree. */
  readonly grade: number | undefined
  /** Whether a write of its own, or a transfer that it has answered, entitles it to act. */
  readonly isEntitled: boolean
  /**
   * Whether work that continues after the lease has expired is excused: the process was suspended when it should have been ending its work, and has
   * had no time since. No process can stop itself while it is suspended.
   */
  readonly isExcused: boolean
}
