/** Undoes what a plant has left behind. */
export type CleanUp = () => unknown

/** A leak on purpose, and its clean twin: the same thing done right. */
export interface Plant {
  readonly name: string
  /** What the detector is to call it. */
  readonly kind: string
  /** Why the place is not visible. The report then names the watch or the test. */
  readonly unplaced?: string
  /** Whether the report shows where the assigned value was written, but not who assigned it. */
  readonly isAssigned?: boolean
  /** What has to be there before anybody watches. */
  readonly prepare?: () => Promise<CleanUp>
  /** Leaves something behind. */
  readonly leak: () => CleanUp | Promise<CleanUp>
  /** Does the same and leaves nothing behind. */
  readonly clean: () => unknown
}

/** Holds what would otherwise be garbage. */
export const kept: unknown[] = []

/** Lets go of it. */
export function letGo(): void {
  kept.length = 0
}
