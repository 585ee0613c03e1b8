import type { LeakKind } from './leak-kind.ts'

/** Things of one kind, created in one place on behalf of one controller, that are still there. */
export interface Leak {
  readonly kind: LeakKind
  /** What people call it. */
  readonly title: string
  /** What tells them from others of their kind: an address, a path, the name of an event; of the first where there are several. */
  readonly detail: string
  /** How many there are. */
  readonly count: number
  /** Where they were created: `file:line:column`, in the user's code where any of it was on the stack. */
  readonly site: string
  /** The stack of their creation without the frames of Node and of the detector, innermost first. */
  readonly stack: readonly string[]
  /** Whether any of them keeps the process alive; undefined where that makes no sense. */
  readonly isRef: boolean | undefined
  /** The controller that created them, where one did. */
  readonly controller: string | undefined
  /** The task of that controller. */
  readonly task: string | undefined
  /** The lease of the terms. */
  readonly lease: string | undefined
  /** The epochs of the terms in which they were created. */
  readonly epochs: readonly bigint[]
  /** How often it was created anew while it was waited for: more than 0 for what never comes to rest. */
  readonly rearmed: number
  /**
   * What holds the first of them, from the outside in: `janitor.ts module scope → variable \`cache\` → Map entry "x" → Term (epoch 7)`.
   * Empty unless the option `retainers` is on and it is an object that is still reachable.
   */
  readonly heldBy: string
  /** What to do about it, in a line. */
  readonly fix: string
}
