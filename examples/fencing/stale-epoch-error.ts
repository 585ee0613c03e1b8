/** The store has seen a later term than the one that wrote: the write was refused, and so will be all others of that term. */
export class StaleEpochError extends Error {
  constructor(epoch: bigint) {
    super(`The store has seen a later term than the one with epoch ${epoch}`)
    this.name = 'StaleEpochError'
  }
}
