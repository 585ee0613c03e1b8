import type { ProcessLife } from './process-life.ts'
import type { Rollout } from './rollout/rollout.ts'
import type { StoreWrite } from './store/store-write.ts'
import type { TermLife } from './term-life.ts'

/** An observation of the simulator. The oracles judge the run by these. */
export type Fact =
  /** A term began. Its controllers run next. */
  | { readonly kind: 'term-began'; readonly term: TermLife }
  | { readonly kind: 'task-began'; readonly term: TermLife; readonly task: string }
  /** Code of the term did something that other processes can observe. */
  | { readonly kind: 'acted'; readonly term: TermLife; readonly what: string }
  | { readonly kind: 'term-over'; readonly term: TermLife }
  /** The process sends a write that releases or transfers the lease. `epoch` is that of the lease which the write replaces. */
  | {
      readonly kind: 'lease-given-up'
      readonly process: ProcessLife
      readonly lease: string
      readonly epoch: bigint
    }
  | { readonly kind: 'process-started'; readonly process: ProcessLife }
  /** The process was asked to stop. */
  | { readonly kind: 'process-stopping'; readonly process: ProcessLife }
  /** The election controller asked the holder of the lease to make way. */
  | { readonly kind: 'holder-preferred'; readonly holder: string }
  | { readonly kind: 'process-ended'; readonly process: ProcessLife }
  /** The store accepted a write. */
  | { readonly kind: 'stored'; readonly write: StoreWrite }
  /** The writer received the answer that its write was accepted. */
  | { readonly kind: 'acknowledged'; readonly write: StoreWrite }
  /** Code of the term read its cache, after that was synced. */
  | { readonly kind: 'cache-read'; readonly term: TermLife; readonly key: string; readonly version: number }
  /** A rollout began. `maxChanges`: how often it may change the leader if no fault happens; undefined if the replicas do not choose. */
  | ({ readonly kind: 'rollout-began'; readonly maxChanges: number | undefined } & Pick<Rollout, 'what' | 'isCrashing'>)
  /** Everything that the rollout stopped has ended. */
  | { readonly kind: 'rollout-ended' }
  /** No fault happens from now on, until `disturbed`. */
  | { readonly kind: 'calm' }
  | { readonly kind: 'disturbed' }
  | { readonly kind: 'ended' }
