/** Something that stops replicas, and how often it may change the leader without faults. */
export interface Rollout {
  readonly what: string
  readonly maxChanges: number
  readonly run: () => Promise<void>
  /** What follows, of which nothing is promised. */
  readonly afterwards?: () => Promise<void>
}
