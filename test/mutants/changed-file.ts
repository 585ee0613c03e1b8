/** A source file of the project, and the text that a run of tests loads instead of what is there. */
export interface ChangedFile {
  /** From the root of the project. */
  readonly file: string
  readonly code: string
}
