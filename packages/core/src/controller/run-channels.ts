import { channel } from 'node:diagnostics_channel'
import type { Term } from '../term/term.ts'
import type { Controller } from './controller.ts'

/** The message of `tenure:run-began` and `tenure:run-over`. Both carry the same object, so it can be the key of a WeakMap. */
export interface RunMessage {
  /** The term, as this controller sees it. */
  readonly term: Term
  /** The controller that runs. */
  readonly controller: Controller
}

const RUN_BEGAN = channel('tenure:run-began')
const RUN_OVER = channel('tenure:run-over')

/** Publishes that a run has begun. The returned function publishes that it has ended. */
export function publishRun(term: Term, controller: Controller): () => void {
  const message: RunMessage = { term, controller }
  RUN_BEGAN.publish(message)
  return () => RUN_OVER.publish(message)
}
