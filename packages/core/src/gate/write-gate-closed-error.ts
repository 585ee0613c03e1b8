import { TermEndedError } from '../term-ended-error.ts'

/** A request that the write gate refused or aborted. */
export interface RefusedWrite {
  /** The HTTP method of the write. */
  readonly method: string
  /** The URL of the write, as the caller gave it. */
  readonly url: string
  /** Whether the request may have reached the server before the gate closed. */
  readonly outcome: 'not-sent' | 'unknown'
}

/** A write was attempted or in flight while its term did not hold the lease. */
export class WriteGateClosedError extends TermEndedError {
  override readonly code = 'WRITE_GATE_CLOSED'
  /** The epoch of the term that the write belongs to. */
  readonly epoch: bigint
  /** The HTTP method of the write. */
  readonly method: string
  /** Without user, password and query, which may hold credentials. */
  readonly url: string
  /** `not-sent`: no byte of the request was sent. `unknown`: the request was aborted in flight and may have taken effect. */
  readonly outcome: 'not-sent' | 'unknown'

  constructor(epoch: bigint, refused: RefusedWrite, options?: ErrorOptions) {
    const what = refused.outcome === 'not-sent' ? 'was not sent' : 'was aborted and may have taken effect'
    const url = withoutCredentials(refused.url)
    super(`${refused.method} ${url} ${what}: the write gate of the term with epoch ${epoch} is closed`, options)
    this.epoch = epoch
    this.method = refused.method
    this.url = url
    this.outcome = refused.outcome
  }
}

function withoutCredentials(url: string): string {
  return url.replace(/[?#].*/s, '').replace(/^([a-z][a-z0-9+.-]*:)?\/\/[^/]*@/i, '$1//')
}
