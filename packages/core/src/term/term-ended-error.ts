import { TenureError } from '../tenure-error.ts'

/** Something that belongs to a run of a controller was used after that run had ended. */
export class TermEndedError extends TenureError {
  override readonly code = 'TERM_ENDED'
  readonly controller: string
  readonly lease: string
  /** The epoch of the term; 0 for work that needs no leadership. */
  readonly epoch: bigint

  constructor({ controller, lease, epoch }: Pick<TermEndedError, 'controller' | 'lease' | 'epoch'>) {
    super(
      `The health checks belong to a run of controller \`${controller}\` that has ended (lease \`${lease}\`, epoch ${epoch}): ` +
        'register them in every run with `term.health`',
    )
    this.controller = controller
    this.lease = lease
    this.epoch = epoch
  }
}
