import type { TimingOptions } from '@tenure/core'

/** What keeps the writes of a former leader out. */
export interface Fences {
  /** The write gate in the client. */
  readonly gate: boolean
  /** The epoch in what is written; the term check on the server needs it. */
  readonly stamp: boolean
  /** The term check on the server. */
  readonly termCheck: boolean
  /** The watchdog thread. */
  readonly watchdog: boolean
}

/** What a replica is told. Goes through JSON. */
export interface ReplicaSetup {
  readonly identity: string
  readonly namespace: string
  readonly leaseName: string
  /** The text of its kubeconfig. */
  readonly kubeConfig: string
  readonly timing: TimingOptions
  readonly fences: Fences
  /** The pause between two additions. */
  readonly everyMs: number
  /** Where a blocked replica keeps the time, in nanoseconds of `process.hrtime`, at which it last ran. */
  readonly lifeFile: string
}

/** The variable that holds a {@link ReplicaSetup}. */
export const SETUP_VARIABLE = 'FAULTS_REPLICA'

/** What the driver can tell a replica. */
export type ReplicaCommand =
  { readonly kind: 'block'; readonly ms: number } | { readonly kind: 'step-wall-clock'; readonly byMs: number }

/** What a replica tells the driver. Never used to judge whether two of them led. */
export type ReplicaReport =
  | { readonly kind: 'blocking'; readonly deadline: string }
  | { readonly kind: 'term-over'; readonly reason: string; readonly outcome: string }
