// For the other packages of this project. Not part of the public API: it may change in any release.
import './supported-node.ts'

export { resolveDurationMs, type DurationRule } from './options/duration.ts'
export { countedEpochOf, epochOf } from './lock/lock.ts'
export { leastEpochOf, withLeastEpoch } from './lock/lease-record.ts'
export { STORE_RESTORED_CHANNEL } from './lock/store-restored-channel.ts'
export { systemClock, type Timer } from './ports/clock.ts'
export { systemRandom, type Random } from './ports/random.ts'
export { jittered } from './jitter.ts'
export { onAbort } from './on-abort.ts'
export { silentLogger, type LogMethod } from './ports/logger.ts'
export { errorOf, isA } from './error-of.ts'
export { type Legacy, OTHER_COLLECTIONS } from './election/rules/bequest.ts'
export { CacheBarrier, type CacheBarrierOptions } from './term/cache-barrier.ts'
export { textOf } from './text-of.ts'
export { safeLogger } from './ports/safe-logger.ts'
export { SelfWaitError } from './term/self-wait.ts'
export { formatMicroTime, withoutHints } from './lock/lease-record.ts'
export type {
  AbsentLease,
  CandidatePings,
  CandidateVersions,
  Coordinator,
  Departure,
  HolderObserver,
  LeaseHolder,
  PreferredHolder,
} from './lock/lock.ts'
export {
  readRequest,
  readRequestAnswer,
  type RequestOutcome,
  type StepDownAnswer,
  type StepDownRequest,
  withRequest,
} from './election/rules/step-down-request.ts'
export { isKeptByHolder, readLeader, readStandbys, type Standby } from './election/rules/standby-note.ts'
export { readAnswer, readOffer, readProcessRef, readTransferNonce } from './election/rules/transfer-notes.ts'
export { type HealthSource } from './health/health-probe.ts'
export { assertKnownKeys, nearestName } from './options/known-keys.ts'
export { assertBoolean, assertOneOf } from './options/one-of.ts'
export { compareVersions, isVersion } from './election/rules/semver.ts'
export {
  parseFeatureGates,
  resolveFeatureGates,
  type FeatureGate,
  type FeatureGateName,
  type FeatureGates,
  type FeatureGateSettings,
} from './feature-gates.ts'
export { type InvoluntaryEndReason, type VoluntaryEndReason } from './election/leadership-ended-error.ts'
export {
  resolveTimingOptions,
  TIMING_OPTION_NAMES,
  type ResolvedTimingOptions,
  type TimingOptions,
} from './election/timing-options.ts'
export type { TermOutcome } from './election/machine/effect.ts'
export { type GatedFetchOptions } from './gate/gated-fetch.ts'
export {
  FENCE_REFUSAL_CHANNEL,
  GATE_REFUSAL_CHANNEL,
  isWriteMethod,
  WriteGate,
  type FenceRefusal,
  type GatedTerm,
  type GateRefusal,
  type RefusalListener,
} from './gate/write-gate.ts'
export { type RefusedWrite } from './gate/write-gate-closed-error.ts'
export type { SpawnOptions } from './term/term.ts'
export { CleanupTimeoutError } from './term/cleanup-timeout-error.ts'
export type { ChildOptions } from './term/owned/child-process.ts'
export type { Listener } from './term/owned/listener.ts'
export type { WorkerOptions } from './term/owned/worker-thread.ts'
export { prepareProcessGuard } from './term/owned/process-guard.ts'
export { OwnedProcesses } from './term/owned/owned-processes.ts'
export { OwnedExitError } from './term/owned/owned-exit-error.ts'
export type { TermExtension } from './term/term-extension.ts'
export { NotHeldError } from './term/leadership.ts'
export { ScopeClosedError, TaskScope, type TaskNote, type TaskScopeOptions } from './term/task-scope.ts'
export { ControllerRestartError, ControllerReturnedError } from './controller/terminal-error.ts'
export { NoProgressError } from './controller/progress-watch.ts'
export { WarmUpOverError, type WarmUpMode, type WarmUpOutcome } from './controller/warm-up.ts'
export type { RestartOptions } from './controller/restart-options.ts'
export { AlreadyStartedError } from './already-started-error.ts'
export type { RunMessage } from './controller/run-channels.ts'
export type { WedgedPolicy } from './election/machine/config.ts'
export type { DrainOutcome, TermOverEvent } from './candidacy/events.ts'
export { describeTasks } from './term/describe-tasks.ts'
export { LEASE_OPTION_NAMES } from './candidacy/lease-options.ts'
export type { ExtensionGroup } from './manager/extension.ts'
export type { AlwaysOnOptions, GroupOptions, StopOptions } from './manager/group-options.ts'
export { ExtensionOverdueError } from './manager/extensions.ts'
export { WatchdogDiedError, type WatchdogOptions } from './watchdog/watchdog.ts'
export { TRACE_CHANNEL, type TracedElector, type TraceStep } from './election/trace/trace-channel.ts'
export {
  TRACE_FORMAT,
  type TraceAct,
  type TraceHeader,
  type TraceLine,
  type TraceRecord,
  type TraceVersion,
  type TraceWrite,
} from './election/trace/trace-line.ts'
export { traceRecordOf } from './election/trace/trace-record.ts'
export { TraceWriter, type TraceWriterOptions } from './election/trace/trace-writer.ts'
