import type { TimingOptions, WedgedPolicy } from '@tenure/core/internal'

/** The fences against writes of a former leader. */
export interface Fences {
  /** The write gate in the client. */
  readonly gate: boolean
  /** The epoch in every write, which the term check on the server needs. */
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
  /** The file in which a blocked replica records when it last ran, in nanoseconds of `process.hrtime`. */
  readonly lifeFile: string
  /** Whether it serves `/metrics`, and reports on which port. */
  readonly servesMetrics: boolean
  readonly onWedged: WedgedPolicy
  /** The file for its trace. Undefined if there is to be none. */
  readonly traceFile: string | undefined
}

/** The variable that holds a {@link ReplicaSetup}. */
export const SETUP_VARIABLE = 'FAULTS_REPLICA'

/** The messages to a replica. */
export type ReplicaCommand =
  | { readonly kind: 'block'; readonly ms: number }
  | { readonly kind: 'step-wall-clock'; readonly byMs: number }
  /** Changes the rate of its clock. */
  | { readonly kind: 'rate-clock'; readonly rate: number }
  /** From now on, the adding task ignores signals. */
  | { readonly kind: 'turn-deaf' }
  /** From now on, a task takes this much longer to end when its term ends. */
  | { readonly kind: 'turn-slow'; readonly ms: number }
  /** Starts to add outside of every task, with the client of the present term, and never stops: it ignores signals. */
  | { readonly kind: 'leak' }
  | { readonly kind: 'exhaust-memory' }

/** The messages from a replica. They do not decide whether two replicas led at the same time. */
export type ReplicaReport =
  /** It has seen the lease and competes for it. */
  | { readonly kind: 'standing' }
  | { readonly kind: 'blocking'; readonly deadline: string }
  | { readonly kind: 'metrics'; readonly port: number }
  /** An event, to explain a late recovery. `at` is a wall-clock time. */
  | { readonly kind: 'event'; readonly at: number; readonly text: string }
