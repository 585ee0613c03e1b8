import type { Term } from './term.ts'

/** Something that lives exactly as long as each run of a controller, such as a metrics registry. */
export interface TermExtension {
  /** Called before the controller runs; the returned function is called after its last task and cleanup. Neither may block. */
  attach(term: Term): () => void
}
