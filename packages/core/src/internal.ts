// For the other packages of this project. It may change in any release.
export { resolveDurationMs, type DurationRule } from './options/duration.ts'
export { countedEpochOf, epochOf } from './lock/lock.ts'
export { leastEpochOf, withLeastEpoch } from './lock/lease-record.ts'
