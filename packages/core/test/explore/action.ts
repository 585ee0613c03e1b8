import type { World } from './world.ts'

/** Something that can happen. */
export interface Action {
  readonly name: string
  readonly apply: () => World
}
