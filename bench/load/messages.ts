/** What a process of the bench is told at its start, as JSON in its first argument. */
export interface ReplicaSetup {
  readonly identity: string
  readonly kubeConfigPath: string
  readonly namespace: string
  readonly leases: readonly string[]
}

/** What a process of the bench is told. */
export type Command =
  { readonly kind: 'step-down'; readonly lease: string } | { readonly kind: 'usage' } | { readonly kind: 'stop' }

/** What a process of the bench tells. Times are nanoseconds of the monotonic clock of the machine, in decimal. */
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
