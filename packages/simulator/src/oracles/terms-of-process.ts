import type { ProcessLife } from '../process-life.ts'
import type { TermLife } from '../term-life.ts'

/** Removes the terms of a process from a set. */
export function deleteTermsOf(process: ProcessLife, terms: Set<TermLife>): void {
  for (const term of terms) if (term.process === process) terms.delete(term)
}
