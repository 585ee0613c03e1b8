import { WriteGateClosedError, type RefusedWrite } from './write-gate-closed-error.ts'

/** What the write gate asks of a term. A core `Term` fits. */
export interface GatedTerm {
  readonly epoch: bigint
  /** Whether this replica may act at this very moment, by the clock. */
  isHeld(): boolean
  /** Aborts when no write of this term may be sent any more. */
  readonly gateSignal: AbortSignal
}

/** Told of every write that the gate refuses or aborts. */
export type RefusalListener = (refusal: WriteGateClosedError) => void

/** Decides for single writes whether they may pass. */
export class WriteGate {
  readonly #term: GatedTerm
  readonly #onRefusal: RefusalListener

  constructor(term: GatedTerm, onRefusal: RefusalListener) {
    this.#term = term
    this.#onRefusal = onRefusal
  }

  get signal(): AbortSignal {
    return this.#term.gateSignal
  }

  /** Asked of the clock, now: after a pause the timer behind the signal may be late. */
  isOpen(): boolean {
    return !this.#term.gateSignal.aborted && this.#term.isHeld()
  }

  /** The error of a write that does not pass; the listener has been told. */
  refuse(write: RefusedWrite): WriteGateClosedError {
    const refusal = new WriteGateClosedError(this.#term.epoch, write, { cause: this.#term.gateSignal.reason })
    this.#onRefusal(refusal)
    return refusal
  }
}
