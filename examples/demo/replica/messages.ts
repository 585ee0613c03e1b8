import type { CandidacyEvent, CandidacyState, EndReason, LiveTask } from 'tenure'

type TermOver = Extract<CandidacyEvent, { readonly kind: 'term-over' }>

/** How many there are of each thing that a process holds, by the name of the thing. */
export type Holdings = Readonly<Record<string, number>>

/** What a replica tells the demo. `at` is on the monotonic clock. */
export type ReplicaReport = { readonly at: number } & (
  | { readonly kind: 'state'; readonly state: CandidacyState['kind'] }
  | { readonly kind: 'term-began'; readonly epoch: bigint }
  | { readonly kind: 'term-ending'; readonly epoch: bigint; readonly reason: EndReason }
  | ({ readonly kind: 'term-over' } & Pick<TermOver, 'epoch' | 'reason' | 'outcome' | 'drain' | 'drainMs'>)
  /** The controller begins to run. */
  | { readonly kind: 'run-began'; readonly epoch: bigint }
  /** The last task of the controller has ended. */
  | { readonly kind: 'run-over'; readonly epoch: bigint }
  | { readonly kind: 'wedged'; readonly epoch: bigint; readonly tasks: readonly LiveTask[] }
  | { readonly kind: 'controller-failed'; readonly error: string }
  /** What a follower holds. */
  | { readonly kind: 'holdings'; readonly holdings: Holdings }
)

/** A kubeconfig: an existing file, or its text. */
type KubeConfigSource = { readonly path: string } | { readonly text: string }

/** What the demo tells a replica. */
export type ReplicaCommand =
  /** Stand for the lease in this namespace. Comes first, and once. */
  | { readonly kind: 'stand'; readonly kubeConfig: KubeConfigSource; readonly namespace: string }
  | { readonly kind: 'step-down' }
  /** Begin a task that heeds neither signal. */
  | { readonly kind: 'get-stuck' }
  | { readonly kind: 'stop' }
