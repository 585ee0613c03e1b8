import { channel } from 'node:diagnostics_channel'
import { withJsonForm } from '../json-form.ts'
import { WriteGateClosedError, type RefusedWrite } from './write-gate-closed-error.ts'

/** The part of a term that the write gate needs. Every `Term` has it. */
export interface GatedTerm {
  /** The fencing token of the term. */
  readonly epoch: bigint
  /** Whether this replica may act now. Reads the clock. */
  isHeld(): boolean
  /** Aborts when no more writes of this term may be sent. */
  readonly gateSignal: AbortSignal
}

/** Receives every write that the gate refuses or aborts. */
export type RefusalListener = (refusal: WriteGateClosedError) => void

/** The diagnostics channel on which every {@link GateRefusal} of this process is published. */
export const GATE_REFUSAL_CHANNEL = 'tenure:gate-refusal'

/** A write that the gate of a term refused or aborted. */
export interface GateRefusal {
  /** The term of the write. */
  readonly term: GatedTerm
  /** The error that the write rejects with. */
  readonly refusal: WriteGateClosedError
}

/** The diagnostics channel on which every {@link FenceRefusal} of this process is published. */
export const FENCE_REFUSAL_CHANNEL = 'tenure:fence-refusal'

/** A write that passed the gate of a term, and that a fence on the server refused. */
export interface FenceRefusal {
  /** The term of the write. */
  readonly term: GatedTerm
  /** Its HTTP method. */
  readonly method: string
}

const refusals = channel(GATE_REFUSAL_CHANNEL)
const fenceRefusals = channel(FENCE_REFUSAL_CHANNEL)

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/**
 * Whether an HTTP method can change anything, by RFC 9110 section 9.2.1. Ignores the case of the name. True for a value that is not a
 * string.
 */
export function isWriteMethod(method: unknown): boolean {
  return typeof method !== 'string' || (!READS.has(method) && !READS.has(method.toUpperCase()))
}

/**
 * Decides whether a write may be sent.
 *
 * It reads the clock for each request, because the timer behind the signal may be late after a pause.
 */
export class WriteGate {
  readonly #term: GatedTerm
  readonly #onRefusal: RefusalListener

  constructor(term: GatedTerm, onRefusal: RefusalListener = () => {}) {
    this.#term = term
    this.#onRefusal = onRefusal
  }

  /** The term whose writes pass. */
  get term(): GatedTerm {
    return this.#term
  }

  /** Aborts when the gate closes. */
  get signal(): AbortSignal {
    return this.#term.gateSignal
  }

  /** Whether a write may be sent now. */
  isOpen(): boolean {
    return !this.#term.gateSignal.aborted && this.#term.isHeld()
  }

  /** Creates the error of a refused write, publishes it and calls the listener. */
  refuse(write: RefusedWrite): WriteGateClosedError {
    const refusal = new WriteGateClosedError(this.#term.epoch, write, { cause: this.#term.gateSignal.reason })
    const published: GateRefusal = withJsonForm({ term: this.#term, refusal })
    refusals.publish(published)
    this.#onRefusal(refusal)
    return refusal
  }

  /** Publishes that a fence on the server refused a write. */
  noteFenceRefusal(method: string): void {
    const published: FenceRefusal = { term: this.#term, method }
    fenceRefusals.publish(published)
  }
}
