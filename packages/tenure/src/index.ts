import '@tenure/core/supported-node'

export {
  Controller,
  ControllerFailedError,
  gatedFetch,
  LeadershipEndedError,
  LeadershipLostError,
  MemoryLeaseStore,
  OptionsError,
  TenureError,
  TermEndedError,
  TerminalError,
  WedgedError,
  WriteGateClosedError,
  type Candidacy,
  type CandidacyEvent,
  type CandidacyState,
  type CandidateAttributes,
  type CandidateFacts,
  type ControllerFactory,
  type EndReason,
  type Extension,
  type HealthCheck,
  type HealthProbe,
  type LeaseOptions,
  type LiveTask,
  type Lock,
  type Logger,
  type RegisterOptions,
  type StepDownOptions,
  type StepDownResult,
  type Term,
  type WarmUp,
} from '@tenure/core'
export {
  gated,
  informer,
  KubeConfigError,
  loadKubeConfig,
  type Informer,
  type InformerOptions,
  type ObjectChange,
} from '@tenure/kubernetes'
export { metrics, type Ops, type OpsOptions } from '@tenure/ops'
export { createManager, type ProcessManager } from './create-manager.ts'
export { EXIT_CODE, exitCodeOf } from './exit-code.ts'
export { lead } from './lead.ts'
export type { CreateManagerOptions, LockContext } from './options.ts'
