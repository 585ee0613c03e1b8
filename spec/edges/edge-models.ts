import type { LeaseModel } from '../models.ts'
import type { Variant } from './code-replica.ts'
import { REQUEST_TIMEOUT_MS, SHORT_REQUEST_TIMEOUT_MS } from './timing.ts'

/**
 * The models whose graphs are walked. A leader of the code that drains offers its lease, so every model has the feature; nobody answers,
 * because the offer names a replica that is not there.
 */
export const SHORT_EDGE_MODELS: readonly LeaseModel[] = [
  { name: 'one term', versions: 2, features: ['transfer'] },
]

/** The same with more versions, deletions and restarts. */
export const EDGE_MODELS: readonly LeaseModel[] = [
  ...SHORT_EDGE_MODELS,
  { name: 'validity, expiry, release', versions: 3, features: ['transfer'] },
  { name: 'a deletion of the lease', versions: 3, deletions: 1, features: ['transfer'] },
]

/** Configurations of the code. Each leads to steps to which the others do not. */
export const VARIANTS: readonly Variant[] = [
  { name: 'releases', releaseOnExit: true, requestTimeoutMs: REQUEST_TIMEOUT_MS },
  { name: 'does not release', releaseOnExit: false, requestTimeoutMs: REQUEST_TIMEOUT_MS },
  { name: 'gives a release up at once', releaseOnExit: true, requestTimeoutMs: SHORT_REQUEST_TIMEOUT_MS },
]
