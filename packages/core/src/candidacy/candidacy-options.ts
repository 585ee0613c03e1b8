import type { ResolvedRestartOptions } from '../controller/restart-options.ts'
import type { ElectorConfig } from '../election/machine/config.ts'
import type { FeatureGates } from '../feature-gates.ts'
import type { Lock } from '../lock/lock.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import type { Random } from '../ports/random.ts'
import type { TermExtension } from '../term/term-extension.ts'
import type { DeadlineGuard } from '../watchdog/watchdog.ts'
import type { CandidacyEvent } from './events.ts'
import type { LeaseOptions } from './lease-options.ts'
import type { LeadershipLostError, WedgedError } from './wedged-error.ts'

/** Options of a `Candidacy`. */
export interface CandidacyOptions {
  /** The lease to compete for. Its name is used in logs, metrics and health checks. */
  readonly lease: LeaseOptions
  /** Called once, at the start. */
  readonly createLock: () => Lock
  readonly config: ElectorConfig
  /** Whether the readiness checks of this replica pass, as far as is known. */
  readonly isReady?: () => boolean
  /** How long warm-ups may take to stop. */
  readonly warmUpStopTimeoutMs: number
  readonly gates: FeatureGates
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly restart: ResolvedRestartOptions
  readonly extensions: readonly TermExtension[]
  /** Called when a term begins. The returned guard kills the process if the term is not confirmed in time. */
  readonly guard?: () => DeadlineGuard | undefined
  /** Called with every event. */
  readonly onEvent: (event: CandidacyEvent) => void
  /** Called when the candidacy cannot continue. The manager must stop. */
  readonly onFailure: (error: Error) => void
  /** Called when the process must exit now, before another replica may lead. */
  readonly onFatal: (error: LeadershipLostError | WedgedError) => void
}
