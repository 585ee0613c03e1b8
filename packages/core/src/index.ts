export { systemClock, type Clock, type Timer } from './ports/clock.ts'
export { systemRandom, type Random } from './ports/random.ts'
export { silentLogger, type Logger, type LogMethod } from './ports/logger.ts'
export { TenureError } from './tenure-error.ts'
export { ANNOTATION_PREFIX, formatMicroTime, type LeaseRecord } from './lock/lease-record.ts'
export type {
  AbsentLease,
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from './lock/lock.ts'
export { LockRequestError, type LockFailure } from './lock/lock-request-error.ts'
export {
  HealthCheckNameError,
  HealthRegistry,
  type HealthCheck,
  type HealthCheckResult,
} from './health/health-registry.ts'
