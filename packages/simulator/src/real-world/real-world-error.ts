import { TenureError } from '@tenure/core'

/** A call from simulated code that leaves the simulation. */
export interface RealWorldCall {
  /** The called function, for example `setTimeout()`. */
  readonly call: string
  /** The place of the call: `file:line:column`. */
  readonly place: string
  /** The replacement to use. */
  readonly instead: string
}

/** Simulated code used something that the seed does not decide: a real clock, a real timer, a real random number, or I/O. */
export class RealWorldError extends TenureError {
  override readonly code = 'REAL_WORLD'
  /** The calls, one for each function and place. */
  readonly calls: readonly RealWorldCall[]

  constructor(calls: readonly RealWorldCall[]) {
    super(
      `Simulated code left the simulation. It called ${calls
        .map(({ call, place, instead }) => `\`${call}\` at ${place} (use ${instead})`)
        .join(', ')}`,
    )
    this.calls = calls
  }
}
