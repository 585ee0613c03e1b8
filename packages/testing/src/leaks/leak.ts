import type { LeakKind } from './leak-kind.ts'

/** What the site of a leak is the place of. */
export type SiteKind = 'creation' | 'value' | 'watch'

/** Things of one kind, created in one place for one controller, that still exist. */
export interface Leak {
  readonly kind: LeakKind
  /** The name of the kind for people. */
  readonly title: string
  /** What distinguishes them from others of their kind: an address, a path, the name of an event. Of the first one where there are several. */
  readonly detail: string
  /** Their number. */
  readonly count: number
  /** A place, `file:line:column`, in the user's code where any of it was on the stack; {@link siteKind} says of what. */
  readonly site: string
  /**
   * What `site` is the place of: `creation`; `value`, where that was written which somebody assigned; or `watch`, which began there,
   * or in that test, before something appeared that nobody saw being made.
   */
  readonly siteKind: SiteKind
  /** The test in which it appeared, when `siteKind` is `watch` and a test runner began it. */
  readonly test: string | undefined
  /** The stack of their creation without the frames of Node and of the detector, innermost first. */
  readonly stack: readonly string[]
  /** Whether any of them keeps the process alive. Undefined for kinds that cannot. */
  readonly isRef: boolean | undefined
  /** The controller that created them, where one did. */
  readonly controller: string | undefined
  /** The task of that controller. */
  readonly task: string | undefined
  /** The lease of the terms. */
  readonly lease: string | undefined
  /** The epochs of the terms in which they were created. */
  readonly epochs: readonly bigint[]
  /** How often it was created again during the grace: more than 0 for a loop that never ends. */
  readonly rearmed: number
  /**
   * What holds the first of them, from the outside in: `janitor.ts module scope → variable \`cache\` → Map entry "x" → Term (epoch 7)`.
   * Empty unless the option `retainers` is on and it is an object that is still reachable.
   */
  readonly heldBy: string
  /** What to do about it, in a line. */
  readonly fix: string
}
