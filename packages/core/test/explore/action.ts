import type { World } from './world.ts'

/** A possible next event of a world. */
export interface Action {
  readonly name: string
  readonly apply: () => World
}
