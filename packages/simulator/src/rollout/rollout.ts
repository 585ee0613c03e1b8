import type { ProcessLife } from '../process-life.ts'

/** Something that stops replicas, and how often it may change the leader without faults. */
export interface Rollout {
  readonly what: string
  readonly maxChanges: number
  /** A process that crashes on purpose. Changes to it, and from it, do not count. @default none */
  readonly isCrashing?: (process: ProcessLife) => boolean
  readonly run: () => Promise<void>
  /** What follows, of which nothing is promised. */
  readonly afterwards?: () => Promise<void>
}
