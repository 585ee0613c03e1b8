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

/** What a `Candidacy` is made of. */
export interface CandidacyOptions {
  /** The lease to stand for. Its name is used in logs, metrics and health checks. */
  readonly lease: LeaseOptions
  /** Called once, at the start. */
  readonly createLock: () => Lock
  readonly config: ElectorConfig
  /** How long warm-ups may take to end. */
  readonly warmUpStopTimeoutMs: number
  readonly gates: FeatureGates
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly restart: ResolvedRestartOptions
  readonly extensions: readonly TermExtension[]
  /** Called when a term begins; what it returns ends the process when the term is not confirmed in time. */
  readonly guard?: () => DeadlineGuard | undefined
  /** Called with everything that happens. */
  readonly onEvent: (event: CandidacyEvent) => void
  /** The candidacy cannot go on: the manager has to stop. */
  readonly onFailure: (error: Error) => void
  /** The process has to end now, before anybody else may lead. */
  readonly onFatal: (error: LeadershipLostError | WedgedError) => void
}
