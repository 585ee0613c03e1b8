import { type Term, TenureError } from '@tenure/core'

/** The run of a controller that a metric belongs to. */
export type TermOfMetrics = Pick<Term, 'controller' | 'lease' | 'epoch'>

/**
 * A metric was used or defined, or the registry asked for, after the run of the controller that it belongs to had ended. Nothing
 * would serve it.
 */
export class TermMetricsEndedError extends TenureError {
  override readonly code = 'TERM_METRICS_ENDED'
  readonly controller: string
  readonly lease: string
  readonly epoch: bigint

  constructor({ controller, lease, epoch }: TermOfMetrics, metric?: string) {
    const subject = metric === undefined ? 'The metrics registry' : `Metric \`${metric}\``
    super(
      `${subject} belongs to a run of controller \`${controller}\` that has ended (lease \`${lease}\`, epoch ${epoch}): ` +
        'define metrics in every run with `metrics(term)` and use them in that run only',
    )
    this.controller = controller
    this.lease = lease
    this.epoch = epoch
  }
}

/** Metrics were asked for where the manager has no registries for its terms. */
export class NoTermMetricsError extends TenureError {
  override readonly code = 'NO_TERM_METRICS'
}
