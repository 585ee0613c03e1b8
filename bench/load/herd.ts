import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry, ControlPlane } from '@tenure/test-control-plane'
import { HerdFleet } from './herd-fleet.ts'
import { grant } from './standing.ts'

/** The size of the herd, and its number of processes. */
export interface HerdOptions {
  readonly followers: number
  readonly processes: number
  readonly rounds: number
}

/** Counts the writes of many followers after each of several releases. */
export async function herd(server: ControlPlane, { followers, processes, rounds }: HerdOptions): Promise<Herd> {
  const lease = `herd-${processes}`
  const users = Array.from({ length: followers + 1 }, (_, index) => `${lease}-${index}`)
  await grant(server, lease, users)
  const setups = users.map((user) => ({ user, lease, kubeConfig: server.kubeConfig({ name: user }) }))
  const fleet = new HerdFleet(setups, processes)
  const counts: Herd[] = []
  try {
    const [first = '', ...others] = users
    fleet.start(first)
    await fleet.until(() => fleet.leader === first)
    for (const user of others) fleet.start(user)
    await fleet.until(() => fleet.followersOf(first) === followers)
    for (let round = 0; round < rounds; round++) {
      const leader = fleet.leader ?? ''
      await fleet.renewal()
      const before = (await herdOf(server, lease)).length
      fleet.stepDown(leader)
      await fleet.until(() => fleet.leader !== undefined && fleet.leader !== leader)
      await fleet.until(() => fleet.leader !== undefined && fleet.followersOf(fleet.leader) === followers)
      counts.push(countWrites((await herdOf(server, lease)).slice(before), leader))
    }
  } finally {
    await fleet.stop()
  }
  console.log(
    `writes to acquire, by release, ${processes} processes: ${counts.map(({ acquires }) => acquires).join(' ')}`,
  )
  const max = (key: keyof Herd) => Math.max(...counts.map((count) => count[key]))
  return { acquires: max('acquires'), conflicts: max('conflicts'), others: max('others') }
}

/** The number of writes of each kind after one release, or the maximum of several. */
export interface Herd {
  /** Writes that name their sender as the holder. */
  readonly acquires: number
  /** Writes of any kind that lost to a faster write. */
  readonly conflicts: number
  /** Writes of followers that name another holder. */
  readonly others: number
}

/** The updates of the lease by the audit log. */
export async function herdOf(server: ControlPlane, lease: string): Promise<readonly AuditEntry[]> {
  await sleep(200)
  return (await server.audit()).filter(({ name, verb }) => name === lease && verb === 'update')
}

/** Counts what others than `released` wrote, except renewals. */
export function countWrites(entries: readonly AuditEntry[], released: string): Herd {
  const theirs = entries.filter((entry) => entry.user !== released && purposeOf(entry) !== 'renewal')
  const acquires = theirs.filter((entry) => purposeOf(entry) === 'acquire').length
  return {
    acquires,
    conflicts: theirs.filter(({ code }) => code === 409).length,
    others: theirs.length - acquires,
  }
}

/** The purpose of a write. An acquiring write sets both times to the same moment. */
function purposeOf({ user, requestObject }: AuditEntry): 'acquire' | 'renewal' | 'other' {
  const { spec } = requestObject as { readonly spec: Readonly<Record<string, unknown>> }
  if (spec['holderIdentity'] !== user) return 'other'
  return spec['acquireTime'] === spec['renewTime'] ? 'acquire' : 'renewal'
}
