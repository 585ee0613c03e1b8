import './supported-node.ts'

export { systemClock, type Clock, type Timer } from './ports/clock.ts'
export { systemRandom, type Random } from './ports/random.ts'
export { jittered } from './jitter.ts'
export { silentLogger, type Logger, type LogMethod } from './ports/logger.ts'
export { TenureError } from './tenure-error.ts'
export { errorOf, isA } from './error-of.ts'
export { textOf } from './text-of.ts'
export { safeLogger } from './ports/safe-logger.ts'
export { SelfWaitError } from './term/self-wait.ts'
export { ANNOTATION_PREFIX, formatMicroTime, type LeaseRecord, withoutHints } from './lock/lease-record.ts'
export type {
  AbsentLease,
  HolderObserver,
  LeaseHolder,
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from './lock/lock.ts'
export { LockRequestError, type LockFailure } from './lock/lock-request-error.ts'
export { HealthRegistry, type HealthCheck, type HealthCheckResult } from './health/health-registry.ts'
export { MemoryLeaseStore } from './lock/memory-lock.ts'
export { HealthProbe, type HealthSource } from './health/health-probe.ts'
export { OptionsError } from './options/options-error.ts'
export { assertKnownKeys } from './options/known-keys.ts'
export {
  parseFeatureGates,
  resolveFeatureGates,
  type FeatureGate,
  type FeatureGateName,
  type FeatureGates,
  type FeatureGateSettings,
} from './feature-gates.ts'
export {
  LeadershipEndedError,
  type EndReason,
  type InvoluntaryEndReason,
  type VoluntaryEndReason,
} from './election/leadership-ended-error.ts'
export {
  resolveTimingOptions,
  TIMING_OPTION_NAMES,
  type ResolvedTimingOptions,
  type TimingOptions,
} from './election/timing-options.ts'
export type { TermOutcome } from './election/machine/effect.ts'
export { gatedFetch, type GatedFetchOptions } from './gate/gated-fetch.ts'
export {
  GATE_REFUSAL_CHANNEL,
  isWriteMethod,
  WriteGate,
  type GatedTerm,
  type GateRefusal,
  type RefusalListener,
} from './gate/write-gate.ts'
export { WriteGateClosedError, type RefusedWrite } from './gate/write-gate-closed-error.ts'
export type { StepDownOptions, Term } from './term/term.ts'
export type { SpawnOptions, WorkScope } from './term/work-scope.ts'
export { TermEndedError } from './term-ended-error.ts'
export { CleanupTimeoutError } from './term/cleanup-timeout-error.ts'
export type { ChildOptions } from './term/owned/child-process.ts'
export type { Listener } from './term/owned/listener.ts'
export type { WorkerOptions } from './term/owned/worker-thread.ts'
export { OwnedExitError } from './term/owned/owned-exit-error.ts'
export type { TermExtension } from './term/term-extension.ts'
export { NotHeldError } from './term/leadership.ts'
export { ScopeClosedError, TaskScope, type LiveTask, type TaskNote, type TaskScopeOptions } from './term/task-scope.ts'
export { Controller, type ControllerFactory, type WarmUp } from './controller/controller.ts'
export {
  ControllerFailedError,
  ControllerRestartError,
  ControllerReturnedError,
  TerminalError,
} from './controller/terminal-error.ts'
export { NoProgressError } from './controller/progress-watch.ts'
export { WarmUpOverError, type WarmUpMode, type WarmUpOutcome } from './controller/warm-up.ts'
export type { RestartOptions } from './controller/restart-options.ts'
export { AlreadyStartedError } from './already-started-error.ts'
export type { Candidacy } from './candidacy/candidacy.ts'
export type { StepDownResult } from './candidacy/step-down.ts'
export type { RunMessage } from './controller/run-channels.ts'
export type { WedgedPolicy } from './election/machine/config.ts'
export type { RegisterOptions } from './controller/registration.ts'
export type { CandidacyEvent, CandidacyState, DrainOutcome, TermOverEvent } from './candidacy/events.ts'
export { LeadershipLostError, WedgedError } from './candidacy/wedged-error.ts'
export { describeTasks } from './term/describe-tasks.ts'
export { LEASE_OPTION_NAMES, type LeaseOptions } from './candidacy/lease-options.ts'
export type { Extension, ExtensionGroup, ExtensionHost } from './manager/extension.ts'
export { Manager } from './manager/manager.ts'
export type { ManagerOptions } from './manager/manager-options.ts'
export type { AlwaysOnOptions, GroupOptions, StopOptions } from './manager/group-options.ts'
export { ExtensionOverdueError } from './manager/extensions.ts'
export { WatchdogDiedError, type WatchdogOptions } from './watchdog/watchdog.ts'
