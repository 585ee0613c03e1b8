import type { CandidacyEvent, StepDownResult } from 'tenure'

/** A report of a controller. */
type ControllerEvent =
  /** The factory was called. */
  | { readonly kind: 'built' }
  | { readonly kind: 'loop-began'; readonly controller: string; readonly epoch: bigint }
  | { readonly kind: 'acted'; readonly controller: string; readonly epoch: bigint; readonly isHeld: boolean }
  /** Every task of the controller has ended. */
  | { readonly kind: 'loop-ended'; readonly controller: string; readonly epoch: bigint }
  /** The signal of the hard abort has aborted. */
  | { readonly kind: 'hard-aborted' }
  | { readonly kind: 'called' }
  | { readonly kind: 'answered' }

/** The resources that a process still holds. */
export interface Footprint {
  /** After a garbage collection, in bytes. */
  readonly heapUsed: number
  /** Memory outside of the heap, in bytes. */
  readonly arrayBuffers: number
  /** What keeps or could keep the event loop alive, counted by kind. */
  readonly resources: Readonly<Record<string, number>>
  /** The listeners of the process, counted by event. */
  readonly listeners: Readonly<Record<string, number>>
}

/** The answer to a command. */
export interface ReplicaReply {
  readonly kind: 'reply'
  readonly id: number
  readonly result: StepDownResult | Footprint | undefined
}

/** A report of a replica. */
export type ReplicaReport = ControllerEvent | CandidacyEvent | ReplicaReply | { readonly kind: 'returned' }

/** A report with its time on the monotonic clock of this machine, in nanoseconds. */
export type ReplicaEvent = ReplicaReport & { readonly at: bigint }

/** The messages to a replica. */
export type ReplicaCommand =
  | { readonly id: number; readonly kind: 'step-down'; readonly cooldownMs?: number }
  | { readonly id: number; readonly kind: 'measure' }
