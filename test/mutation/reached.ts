/** The global set that marked code adds the names of functions to. */
export const REACHED = '__tenureReached'

/** What a test file has run of the sources. */
export interface Reached {
  /** From the root of the project. */
  readonly test: string
  /** The functions, as marks name them. */
  readonly functions: readonly string[]
}
