import type { CandidacyState } from 'tenure'
import type { StandingSetup } from './standing.ts'

/** The settings of a process of the bench, as JSON in its first argument. */
export interface ReplicaSetup {
  readonly identity: string
  readonly kubeConfigPath: string
  readonly namespace: string
  readonly leases: readonly string[]
}

/** The messages to a process of the bench. */
export type Command =
  { readonly kind: 'step-down'; readonly lease: string } | { readonly kind: 'usage' } | { readonly kind: 'stop' }

/** The messages from a process of the bench. Times are nanoseconds of the monotonic clock of the machine, in decimal. */
export type Report =
  | { readonly kind: 'stepping-down'; readonly lease: string; readonly at: string }
  | { readonly kind: 'running'; readonly lease: string; readonly at: string }
  | { readonly kind: 'not-leading'; readonly lease: string }
  | {
      readonly kind: 'usage'
      readonly cpuMicros: number
      readonly at: string
      readonly leading: number
      readonly renewals: number
    }

/** The messages to a process of a herd. */
export type HerdCommand =
  { readonly kind: 'start'; readonly setup: StandingSetup } | { readonly kind: 'step-down'; readonly user: string }

/** The messages from a process of a herd. */
export type HerdReport =
  | { readonly kind: 'renewed' }
  | {
      readonly kind: 'state'
      readonly user: string
      readonly state: CandidacyState['kind']
      /** The leader that it follows, if any. */
      readonly leader: string | undefined
    }
