export {
  AlreadyStartedError,
  Controller,
  ControllerFailedError,
  ControllerReturnedError,
  IdentityTakenError,
  LeadershipEndedError,
  LeadershipLostError,
  Manager,
  NotHeldError,
  OptionsError,
  ScopeClosedError,
  TenureError,
  TerminalError,
  WedgedError,
  type Candidacy,
  type CandidacyEvent,
  type CandidacyState,
  type ControllerFactory,
  type EndReason,
  type FeatureGateSettings,
  type HealthCheck,
  type LeaseOptions,
  type LiveTask,
  type Logger,
  type RegisterOptions,
  type RestartOptions,
  type SpawnOptions,
  type StepDownOptions,
  type StepDownResult,
  type Term,
  type TimingOptions,
  type WedgedPolicy,
} from '@tenure/core'
export { gated, KubeConfigError, leaseRole, loadKubeConfig, WriteGateClosedError } from '@tenure/kubernetes'
export { metrics, NoTermMetricsError, PortInUseError, TermMetricsEndedError } from '@tenure/ops'
export { createManager, ProcessManager } from './create-manager.ts'
export { EXIT_CODE, exitCodeOf } from './exit-code.ts'
export type { CreateManagerOptions, OpsOptions } from './options.ts'
