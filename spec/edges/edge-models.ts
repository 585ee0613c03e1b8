import type { LeaseModel } from '../models.ts'
import type { Variant } from './code-replica.ts'
import { REQUEST_TIMEOUT_MS, SHORT_REQUEST_TIMEOUT_MS } from './timing.ts'

/** A model whose graph is walked. */
export interface EdgeModel extends LeaseModel {
  /** The walk ends after about so many tests, so that it does not cover everything. @default complete */
  readonly tests?: number
}

/*
 * A leader of the code that drains offers its lease, so every model has the feature; nobody answers, because the offer names a replica that
 * is not there.
 */
const ONE_TERM: EdgeModel = { name: 'one term', versions: 2, features: ['transfer'] }
const TERMS: EdgeModel = { name: 'validity, expiry, release', versions: 3, features: ['transfer'], tests: 120_000 }
const RESTARTS: EdgeModel = { name: 'restarts', versions: 2, restarts: 1, features: ['transfer'], tests: 30_000 }
const SLOW: EdgeModel = { name: 'slow clocks', versions: 2, features: ['transfer', 'drift'], tests: 30_000 }

/** The first is walked completely. */
export const EDGE_MODELS: readonly EdgeModel[] = [ONE_TERM, TERMS, RESTARTS, SLOW]

/** A complete walk along the smallest one, and the beginning of a larger one. */
export const SHORT_EDGE_MODELS: readonly EdgeModel[] = [ONE_TERM, { ...TERMS, tests: 40_000 }]

/** Configurations of the code. Each leads to steps to which the others do not. */
export const VARIANTS: readonly Variant[] = [
  { name: 'releases', releaseOnExit: true, requestTimeoutMs: REQUEST_TIMEOUT_MS },
  { name: 'does not release', releaseOnExit: false, requestTimeoutMs: REQUEST_TIMEOUT_MS },
  { name: 'gives a release up at once', releaseOnExit: true, requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS },
]
