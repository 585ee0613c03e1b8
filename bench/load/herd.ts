import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry, ControlPlane } from '@tenure/test-control-plane'
import type { Figures } from '../figures.ts'
import { grant, standing } from './standing.ts'

const LEASE = 'herd'

/** Shorter than the retry period: no renewal of the new leader falls into the count. */
const COUNTED_MS = 1500

/** Counts the writes that each of several releases sets off among many followers. */
export async function herd(
  server: ControlPlane,
  { followers, rounds }: { readonly followers: number; readonly rounds: number },
): Promise<Figures> {
  const users = Array.from({ length: followers + 1 }, (_, index) => `herd-${index}`)
  await grant(server, LEASE, users)
  const replicas = users.map((user) => standing(server, { user, lease: LEASE }))
  const [first, ...others] = replicas
  first?.start()
  await first?.reached('leading')
  for (const replica of others) replica.start()
  await Promise.all(others.map((replica) => replica.reached('following', first?.user)))
  const counts: Count[] = []
  for (let round = 0; round < rounds; round++) {
    const leader = replicas.find(({ manager }) => manager.state.kind === 'leading')
    if (leader === undefined) throw new Error('Nobody leads')
    await leader.renewed()
    const before = (await herdOf(server)).length
    await leader.manager.stepDown()
    await Promise.race(replicas.map((replica) => replica.reached('leading')))
    await sleep(COUNTED_MS)
    counts.push(countWrites((await herdOf(server)).slice(before), leader.user))
    const next = replicas.find(({ manager }) => manager.state.kind === 'leading')
    const rest = replicas.filter((one) => one !== next)
    await Promise.all(rest.map((one) => one.reached('following', next?.user)))
  }
  await Promise.all(replicas.map((replica) => replica.stop()))
  const max = (key: keyof Count) => Math.max(...counts.map((count) => count[key]))
  return {
    'P7.acquire_writes_max': max('acquires'),
    'P7.conflicts_max': max('conflicts'),
    'P7.other_writes_max': max('others'),
    'P7.rounds': rounds,
  }
}

interface Count {
  /** Writes that name their own author as the holder. */
  readonly acquires: number
  /** Writes of any kind that somebody else was faster than. */
  readonly conflicts: number
  /** Writes that leave the holder as it is. */
  readonly others: number
}

async function herdOf(server: ControlPlane): Promise<readonly AuditEntry[]> {
  await sleep(200)
  return (await server.audit()).filter(({ name, verb }) => name === LEASE && verb === 'update')
}

function countWrites(entries: readonly AuditEntry[], released: string): Count {
  const theirs = entries.filter(({ user }) => user !== released)
  const acquires = theirs.filter((entry) => holderIn(entry) === entry.user).length
  return {
    acquires,
    conflicts: theirs.filter(({ code }) => code === 409).length,
    others: theirs.length - acquires,
  }
}

function holderIn({ requestObject }: AuditEntry): string | undefined {
  return (requestObject as { readonly spec?: { readonly holderIdentity?: string } } | undefined)?.spec?.holderIdentity
}
