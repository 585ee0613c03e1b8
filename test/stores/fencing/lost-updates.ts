/** The client of one leader process for a counter in a store. */
export interface CounterClient {
  /** What a term does first. */
  begin(epoch: bigint): Promise<void>
  read(): Promise<bigint>
  /** Rejects when the store refuses the write. */
  write(epoch: bigint, value: bigint): Promise<void>
}

/** The result. */
export interface LostUpdates {
  /** Increments that the store has acknowledged. */
  readonly acknowledged: number
  /** Of these, how many the counter does not show in the end. */
  readonly lost: number
  /** Writes that the store refused. */
  readonly refused: number
}

const INCREMENTS_OF_A_TERM = 100

/**
 * Leaders that count, one after the other. Each begins before the previous leader has noticed. A leader continues until it is refused, or
 * until the next leader but one begins.
 */
export async function countLostUpdates(clients: readonly CounterClient[]): Promise<LostUpdates> {
  let acknowledged = 0
  let refused = 0
  const zombies: Promise<void>[] = []
  const count = async (client: CounterClient, epoch: bigint, goesOn: (done: number) => boolean): Promise<void> => {
    for (let done = 0; goesOn(done); done++) {
      const value = await client.read()
      try {
        await client.write(epoch, value + 1n)
        acknowledged += 1
      } catch {
        refused += 1
        return
      }
    }
  }
  let present = 0
  for (const [term, client] of clients.entries()) {
    const epoch = BigInt(1000 + term)
    await client.begin(epoch)
    present = term
    await count(client, epoch, (done) => done < INCREMENTS_OF_A_TERM)
    // Its successor begins, and it has not noticed.
    zombies.push(count(client, epoch, (done) => present <= term + 1 && done < 10 * INCREMENTS_OF_A_TERM))
  }
  present = clients.length + 1
  await Promise.all(zombies)
  const [first] = clients
  const shown = Number((await first?.read()) ?? 0n)
  return { acknowledged, lost: acknowledged - shown, refused }
}
