import { ReplicaProcess, type ReplicaSetup } from './replica-process.ts'

/** A leader and its successor, which is warm: it follows, and its watch is up. */
interface Turn {
  readonly leader: ReplicaProcess
  readonly successor: ReplicaProcess
}

/**
 * Ends the leader of one lease again and again, each time with a fresh process as its successor, and collects what `measure` makes
 * of every turn.
 */
export async function replaceLeaders(
  setup: { readonly rounds: number; readonly lease: ReplicaSetup['lease']; readonly kubeConfigPath: string },
  measure: (turn: Turn) => Promise<number>,
): Promise<readonly number[]> {
  const { rounds, lease, kubeConfigPath } = setup
  const samples: number[] = []
  const start = (index: number) => new ReplicaProcess({ identity: `${lease.name}-${index}`, lease }, kubeConfigPath)
  let leader = start(0)
  await leader.told('wrote')
  for (let round = 1; round <= rounds; round++) {
    const successor = start(round)
    await successor.told('follows')
    samples.push(await measure({ leader, successor }))
    await leader.exited()
    leader = successor
  }
  leader.end('SIGKILL')
  await leader.exited()
  return samples
}

/** Milliseconds from SIGTERM to the answer to the first write of the successor's work. */
export async function terminateLeader({ leader, successor }: Turn): Promise<number> {
  const askedAt = leader.end('SIGTERM')
  return (await successor.told('wrote')).at - askedAt
}

/** Milliseconds from the expiry of a killed leader's lease, as its successor saw it, to the beginning of the next term. */
export async function killLeader({ leader, successor }: Turn): Promise<number> {
  leader.end('SIGKILL')
  return (await successor.told('term-began')).handoverMs
}
