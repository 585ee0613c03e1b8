import { ReplicaProcess, type ReplicaSetup } from './replica-process.ts'

/** A leader and a follower that has led before. */
interface Turn {
  readonly leader: ReplicaProcess
  readonly successor: ReplicaProcess
}

/** The samples of a fleet, in milliseconds. */
export interface Replacements {
  /** The result of `measure` for each turn. */
  readonly samples: readonly number[]
  /** The time from the order to step down to the first write of a process that has just begun to follow. */
  readonly fresh: readonly number[]
}

/**
 * In each turn, the leader steps down to a new process, which is then ended so that the first process leads again. `measure` measures that
 * last handover.
 */
export async function replaceLeaders(
  setup: { readonly rounds: number; readonly lease: ReplicaSetup['lease']; readonly kubeConfigPath: string },
  measure: (turn: Turn) => Promise<number>,
): Promise<Replacements> {
  const { rounds, lease, kubeConfigPath } = setup
  const start = (identity: string) =>
    new ReplicaProcess({ identity: `${lease.name}-${identity}`, lease }, kubeConfigPath)
  const samples: number[] = []
  const fresh: number[] = []
  const successor = start('successor')
  await successor.told('wrote')
  for (let round = 1; round <= rounds; round++) {
    const leader = start(`leader-${round}`)
    await leader.told('follows')
    const follows = successor.next('follows')
    const askedAt = successor.stepDown()
    fresh.push((await leader.told('wrote')).at - askedAt)
    await follows
    samples.push(await measure({ leader, successor }))
    await leader.exited()
  }
  successor.end('SIGKILL')
  await successor.exited()
  return { samples, fresh }
}

/** Milliseconds from SIGTERM to the answer to the first write of the successor's work. */
export async function terminateLeader({ leader, successor }: Turn): Promise<number> {
  const wrote = successor.next('wrote')
  const askedAt = leader.end('SIGTERM')
  return (await wrote).at - askedAt
}

/** Milliseconds from the expiry of a killed leader's lease, as its successor saw it, to the beginning of the next term. */
export async function killLeader({ leader, successor }: Turn): Promise<number> {
  const began = successor.next('term-began')
  leader.end('SIGKILL')
  return (await began).handoverMs
}
