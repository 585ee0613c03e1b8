import type { ProcessLife } from './process-life.ts'
import type { StoreWrite } from './store/store-write.ts'
import type { TermLife } from './term-life.ts'

/** What the simulator sees happen, for the oracles to judge. */
export type Fact =
  /** A term was announced; its controllers run next. */
  | { readonly kind: 'term-began'; readonly term: TermLife }
  | { readonly kind: 'task-began'; readonly term: TermLife; readonly task: string }
  /** Code of the term did something that others can see. */
  | { readonly kind: 'acted'; readonly term: TermLife; readonly what: string }
  | { readonly kind: 'term-over'; readonly term: TermLife }
  /** A write that frees or hands on the lease leaves the process. */
  | { readonly kind: 'lease-given-up'; readonly process: ProcessLife; readonly lease: string }
  | { readonly kind: 'process-ended'; readonly process: ProcessLife }
  /** The store has accepted a write. */
  | { readonly kind: 'stored'; readonly write: StoreWrite }
  /** The writer knows that its write was accepted. */
  | { readonly kind: 'acknowledged'; readonly write: StoreWrite }
  /** Nothing goes wrong from now on, until `disturbed`. */
  | { readonly kind: 'calm' }
  | { readonly kind: 'disturbed' }
  | { readonly kind: 'ended' }
