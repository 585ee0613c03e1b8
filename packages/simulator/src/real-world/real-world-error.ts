import { TenureError } from '@tenure/core'

/** A call of simulated code that leaves the simulation. */
export interface RealWorldCall {
  /** What was called, for example `setTimeout()`. */
  readonly call: string
  /** Where: `file:line:column`. */
  readonly place: string
  /** What to use instead. */
  readonly instead: string
}

/** Simulated code used something that the seed does not decide: a real clock, a real timer, real chance, or I/O. */
export class RealWorldError extends TenureError {
  override readonly code = 'REAL_WORLD'
  /** Each call once for every place. */
  readonly calls: readonly RealWorldCall[]

  constructor(calls: readonly RealWorldCall[]) {
    super(
      `Expected simulated code to stay inside of the simulation, but it called ${calls
        .map(({ call, place, instead }) => `\`${call}\` at ${place} (use ${instead})`)
        .join(', ')}`,
    )
    this.calls = calls
  }
}
