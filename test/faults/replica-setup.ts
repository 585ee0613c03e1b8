import type { TimingOptions } from '@tenure/core/internal'

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

/** The settings of a replica, as JSON. */
export interface ReplicaSetup {
  readonly identity: string
  readonly namespace: string
  readonly leaseName: string
  /** The text of its kubeconfig. */
  readonly kubeConfig: string
  readonly timing: TimingOptions
  readonly fences: Fences
  /** How long a replica works on an addition, between reading and writing. */
  readonly workMs: number
  /** How long it rests between two additions. */
  readonly restMs: number
  /** Where a blocked replica keeps the time, in nanoseconds of `process.hrtime`, at which it last ran. */
  readonly lifeFile: string
}

/** The variable that holds a {@link ReplicaSetup}. */
export const SETUP_VARIABLE = 'FAULTS_REPLICA'

/** What the driver can tell a replica. */
export type ReplicaCommand =
  | { readonly kind: 'block'; readonly ms: number }
  | { readonly kind: 'step-wall-clock'; readonly byMs: number }
  /** Has the clock run at another rate than time does. */
  | { readonly kind: 'rate-clock'; readonly rate: number }
  /** From now on, the task that adds heeds no signal. */
  | { readonly kind: 'turn-deaf' }
  | { readonly kind: 'exhaust-memory' }

/** What a replica tells the driver. Never used to judge whether two of them led. */
export type ReplicaReport =
  /** It has seen the lease: it stands for election. */
  | { readonly kind: 'standing' }
  | { readonly kind: 'blocking'; readonly deadline: string }
  /** For who wants to know why something came late; `at` is a wall-clock time. */
  | { readonly kind: 'event'; readonly at: number; readonly text: string }
