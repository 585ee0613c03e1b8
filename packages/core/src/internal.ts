// For the other packages of this project. It may change in any release.
export { resolveDurationMs, type DurationRule } from './options/duration.ts'
