import { TenureError } from './tenure-error.ts'

/**
 * The codes of a {@link TermEndedError}.
 *
 * | code | what was refused or ended |
 * |---|---|
 * | `TERM_ENDED` | the health checks or metrics of a controller were used after its run |
 * | `SCOPE_CLOSED` | the term takes no new tasks, timers, servers or processes |
 * | `NOT_HELD` | the lease is not held at this moment |
 * | `LEADERSHIP_ENDED` | the reason of the abort signals of a term |
 * | `CONTROLLER_RESTART` | the reason of the abort signals of a controller that restarts |
 * | `WARM_UP_OVER` | the reason of the abort signals of a warm-up |
 * | `WRITE_GATE_CLOSED` | a write was refused, or aborted in flight |
 */
export type TermEndedCode =
  | 'TERM_ENDED'
  | 'SCOPE_CLOSED'
  | 'NOT_HELD'
  | 'LEADERSHIP_ENDED'
  | 'CONTROLLER_RESTART'
  | 'WARM_UP_OVER'
  | 'WRITE_GATE_CLOSED'

/**
 * The term, or the run of a controller in it, has ended or begun to end. Start no more work and let the error propagate. The next term
 * runs a new controller. The `code` says what was refused.
 */
export class TermEndedError extends TenureError {
  override readonly code: TermEndedCode = 'TERM_ENDED'
}
