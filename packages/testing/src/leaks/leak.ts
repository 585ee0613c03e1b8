import type { LeakKind } from './leak-kind.ts'

/** The meaning of the site of a leak. */
export type SiteKind = 'creation' | 'value' | 'watch'

/** Things of one kind that still exist and that one controller created in one place. */
export interface Leak {
  /** What leaked. */
  readonly kind: LeakKind
  /** The readable name of the kind. */
  readonly title: string
  /** Details of the first of them: an address, a path, the name of an event. */
  readonly detail: string
  /** Their number. */
  readonly count: number
  /** A place, `file:line:column`, in the user's code if possible. {@link siteKind} gives its meaning. */
  readonly site: string
  /**
   * The meaning of `site`. `creation`: the place of the creation. `value`: the place where the assigned value is defined. `watch`: the
   * place or test where the watch began, because the creation was not recorded.
   */
  readonly siteKind: SiteKind
  /** The test in which the leak appeared, if `siteKind` is `watch` and a test runner began the watch. */
  readonly test: string | undefined
  /** The stack of their creation without the frames of Node and of the detector, innermost first. */
  readonly stack: readonly string[]
  /** Whether any of them keeps the process alive. Undefined for kinds that cannot. */
  readonly isRef: boolean | undefined
  /** The controller that created them, if any. */
  readonly controller: string | undefined
  /** The task of that controller. */
  readonly task: string | undefined
  /** The lease of the terms. */
  readonly lease: string | undefined
  /** The epochs of the terms in which they were created. */
  readonly epochs: readonly bigint[]
  /** How often it was created again during the grace. More than 0 means an endless loop. */
  readonly rearmed: number
  /**
   * What holds the first of them, from the outside in: `janitor.ts module scope → variable \`cache\` → Map entry "x" → Term (epoch 7)`.
   * Empty unless the option `retainers` is on and the leak is an object in memory.
   */
  readonly heldBy: string
  /** How to fix it, in one line. */
  readonly fix: string
}
