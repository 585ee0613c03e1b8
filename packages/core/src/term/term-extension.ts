import type { Term } from './term.ts'

/** Something that exists once per run of a controller, such as a metrics registry. */
export interface TermExtension {
  /** Called before the controller runs. The returned function is called after the last task and cleanup. Neither may block. */
  attach(term: Term): () => void
}
