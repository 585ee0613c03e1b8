import type { ElectorConfig } from '../election/machine/config.ts'
import { durationMs } from '../election/rules/view.ts'
import type { ElectorState } from '../election/machine/state.ts'
import { readRequest } from '../election/rules/step-down-request.ts'
import type { PresentLease } from '../lock/lock.ts'
import type { Logger } from '../ports/logger.ts'
import { type Preemptions, StrategyNotices } from './strategy-notices.ts'

/** A lease with more than this multiple of the own lease duration causes a warning. */
const LONG_FACTOR = 4

/** Warns of conditions that leave a lease without work or without a leader. Warns once for each occurrence. */
export class LeaseNotices {
  readonly #log: { readonly logger: Logger; readonly lease: string }
  readonly #strategy: StrategyNotices
  #last: string | undefined
  #request: string | undefined

  constructor(log: { readonly logger: Logger; readonly lease: string }) {
    this.#log = log
    this.#strategy = new StrategyNotices(log)
  }

  /** Warns that a term would have nothing to do, or that this replica begins none. */
  started(controllers: number, { neverLeads }: ElectorConfig): void {
    const { logger, lease } = this.#log
    if (neverLeads === true) {
      logger.warn(
        { lease, event: 'never-leads' },
        `this replica never leads the lease ${lease}, because of \`rollout: 'never-lead'\`. If no other replica runs, nobody leads`,
      )
    } else if (controllers === 0) this.#noControllers()
  }

  #noControllers(): void {
    const { logger, lease } = this.#log
    logger.warn(
      { lease, event: 'no-controllers' },
      `no controller is registered for the lease ${lease}: this replica will lead and do nothing. Call ` +
        '`register(() => new MyController())` before `start()`',
    )
  }

  /** What came of the better candidates that this replica saw while it led. */
  get preemptions(): Preemptions {
    return this.#strategy.preemptions
  }

  /** Checks the lease as the elector sees it now. */
  look(state: ElectorState, config: ElectorConfig): void {
    const lease = leaseOf(state)
    this.#strategy.look(state, lease, config)
    if (lease === undefined) return
    if (state.kind === 'draining') this.#noteRequest(lease)
    if (state.kind === 'leading') this.#noteDeclined(state.declined, lease)
    const notice = noticeOf(lease, config)
    if (notice?.event !== this.#last && notice !== undefined) {
      const { event, message } = notice
      this.#log.logger.warn({ lease: this.#log.lease, event, holder: lease.record.holderIdentity }, message)
    }
    this.#last = notice?.event
  }

  /** Says that the term ends because of a request in the lease. */
  #noteRequest({ record }: PresentLease): void {
    const request = readRequest(record)
    if (request === undefined || request.id === this.#request) return
    this.#request = request.id
    const { logger, lease } = this.#log
    const to = request.to === undefined ? '' : ` to ${request.to}`
    logger.info(
      { lease, event: 'step-down-requested', request: request.id, to: request.to },
      `a client requested through the lease that this replica hands over${to}`,
    )
  }

  /** Says that the term goes on although a request in the lease names its successor. */
  #noteDeclined(declined: string | undefined, { record }: PresentLease): void {
    const request = readRequest(record)
    if (request === undefined || request.id !== declined || request.id === this.#request) return
    this.#request = request.id
    const { logger, lease } = this.#log
    logger.warn(
      { lease, event: 'step-down-declined', request: request.id, to: request.to },
      `declined a request to hand over to ${request.to}, because no replica of this name answered. This replica leads on`,
    )
  }
}

/** The duration of a record if it is unusually long; undefined otherwise. */
export function longDurationMs(lease: PresentLease, { timing, identity }: ElectorConfig): number | undefined {
  const ms = durationMs(lease)
  const isForeign = lease.record.holderIdentity !== '' && lease.record.holderIdentity !== identity
  return isForeign && ms > LONG_FACTOR * timing.leaseDurationMs ? ms : undefined
}

function noticeOf(
  lease: PresentLease,
  config: ElectorConfig,
): { readonly event: string; readonly message: string } | undefined {
  if (lease.deleting) {
    return {
      event: 'lease-deleting',
      message:
        'The lease is being deleted, but its finalizers keep it. Nobody can acquire it before they are gone. Remove ' +
        '`metadata.finalizers` from the lease',
    }
  }
  const longMs = longDurationMs(lease, config)
  if (longMs === undefined) return undefined
  const ownSeconds = config.timing.leaseDurationMs / 1000
  return {
    event: 'lease-duration-long',
    message:
      `The lease of ${lease.record.holderIdentity} states a duration of ${longMs / 1000} s, and this replica writes ` +
      `${ownSeconds} s. If that holder dies, nobody may acquire the lease for ${longMs / 1000} s. Set ` +
      `\`spec.leaseDurationSeconds\` to ${ownSeconds}`,
  }
}

/** The lease as the elector sees it; undefined if it has seen none. */
export function leaseOf(state: ElectorState): PresentLease | undefined {
  if ('hold' in state) return state.hold.lease
  return 'observation' in state && state.observation.kind === 'present' ? state.observation.lease : undefined
}
