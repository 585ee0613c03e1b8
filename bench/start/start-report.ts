/** What a replica tells of its start. */
export interface StartReport {
  /** When it had read the lease and knew the leader, on the monotonic clock of the machine, in milliseconds. */
  readonly candidateAt: number
  /** The resident memory a second after it became a candidate. */
  readonly followerBytes: number
}
