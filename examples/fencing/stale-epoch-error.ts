/** The store has seen a later term than the writer's. It refused the write and will refuse all others of that term. */
export class StaleEpochError extends Error {
  constructor(epoch: bigint) {
    super(`The store has seen a later term than the one with epoch ${epoch}`)
    this.name = 'StaleEpochError'
  }
}
