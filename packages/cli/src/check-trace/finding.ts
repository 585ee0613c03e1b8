/** The rules of a trace. The invariants S1 to S6 are those of docs/SPEC.md. */
export const RULES = {
  format: 'Every line is a line that an elector can write, and the first one of an elector is its header.',
  order: 'The lines of an elector are numbered from 1, it starts once, and its times do not go back.',
  clock: 'The clock of an elector is no slower than the clock of its machine, beyond the tolerance.',
  request:
    'Requests are numbered in turn, a holder sends one write at a time, and only a request that was sent is answered, once.',
  store:
    'A version of the lease has one content. A write replaces one version by the next, and the lease exists in between. A refused write makes none. A read is never older than what was known when it was sent.',
  source:
    'A record that names a traced replica was sent by that replica, or by the one that transferred it, before anybody saw it.',
  base: 'A write replaces the newest version that its sender has seen.',
  write: 'A write changes what its purpose may change, in a state in which its sender may send it.',
  wait: 'A lease is taken when it is free: released, transferred, proved dead, or unchanged for its longest duration.',
  validity:
    'A term acts for a lease duration, less the tolerance, from the send of a write that is known to have happened.',
  begin: 'A term begins with an acknowledged write or an answered transfer, after every wait, and not twice.',
  state:
    'The state agrees with the term and follows from the event: a follower has no term, and no writes are sent while a term is aborted.',
  S1: 'Two terms of a lease never act at the same time.',
  S3: 'A release or transfer is sent only when the term is empty.',
  S4: 'A release only clears the lease of its sender in its term.',
  S5: 'A term begins when the one before is over.',
  S6: 'The epochs of the terms of a lease strictly grow.',
  D1: 'A holder that is proved dead takes no further step.',
} as const

/** The name of a rule. */
export type Rule = keyof typeof RULES

/** A rule that a trace breaks. */
export interface Finding {
  readonly rule: Rule
  readonly file: string
  /** From 1. */
  readonly line: number
  readonly message: string
}
