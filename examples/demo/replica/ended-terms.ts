import { getEventListeners } from 'node:events'
import type { Term } from 'tenure'

/**
 * The terms that this process has led, for as long as anything keeps them in memory.
 *
 * A term that was drained is garbage: no timer, listener, health check or client may refer to it.
 */
export class EndedTerms {
  #terms: WeakRef<Term>[] = []

  /** Notes that a term has ended. */
  add(term: Term): void {
    this.#terms.push(new WeakRef(term))
  }

  /** How many terms are still in memory, and how many listeners hang on their signals, after a garbage collection. */
  census(): { readonly terms: number; readonly abortListeners: number } {
    if (this.#terms.length > 0) globalThis.gc?.()
    this.#terms = this.#terms.filter((reference) => reference.deref() !== undefined)
    const signals = this.#terms.flatMap((reference) => signalsOf(reference.deref()))
    const listeners = signals.map((signal) => getEventListeners(signal, 'abort').length)
    return { terms: this.#terms.length, abortListeners: listeners.reduce((sum, count) => sum + count, 0) }
  }
}

function signalsOf(term: Term | undefined): readonly AbortSignal[] {
  return term === undefined ? [] : [term.signal, term.hardSignal, term.gateSignal]
}
