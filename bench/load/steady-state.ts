import { setTimeout as sleep } from 'node:timers/promises'
import { type AuditEntry, type ControlPlane, countRequests } from '@tenure/test-control-plane'
import type { Figures } from '../figures.ts'
import { grant, standing } from './standing.ts'

const LEASE = 'steady'

/** Counts the requests of a leader and of a follower while nothing changes, at the default timing. */
export async function steadyState(server: ControlPlane, { seconds }: { readonly seconds: number }): Promise<Figures> {
  const users = ['steady-leader', 'steady-follower']
  await grant(server, LEASE, users)
  const [leader, follower] = users.map((user) =>
    standing({ user, lease: LEASE, kubeConfig: server.kubeConfig({ name: user }) }),
  )
  if (leader === undefined || follower === undefined) throw new Error('Expected two replicas')
  leader.start()
  await leader.reached('leading')
  follower.start()
  await follower.reached('following')
  await leader.renewed()
  const before = { entries: await settled(server), renewals: leader.renewals, at: performance.now() }
  await sleep(seconds * 1000)
  await leader.renewed()
  const after = { entries: await settled(server), renewals: leader.renewals }
  const elapsedMs = performance.now() - before.at
  await follower.stop()
  await leader.stop()
  const counts = countRequests(after.entries.slice(before.entries.length), ['user', 'verb'])
  const countOf = (user: string, verbs: readonly string[]) =>
    verbs.reduce((sum, verb) => sum + (counts[`steady-${user} ${verb}`] ?? 0), 0)
  const renewals = after.renewals - before.renewals
  const followed = countOf('follower', ['get', 'list', 'watch', 'create', 'update', 'patch'])
  return {
    // After its first list and watch. Reopened watches count.
    'P6.follower_rps': followed / (elapsedMs / 1000),
    'P6.follower_requests': followed,
    'P6.follower_requests_at_start': before.entries.filter(({ user }) => user === 'steady-follower').length,
    'P6.renewals': renewals,
    'P6.leader_puts_per_renewal': countOf('leader', ['update']) / renewals,
    'P6.leader_gets': countOf('leader', ['get', 'list']),
  }
}

/** The audit log, once it contains every request that was answered by now. */
async function settled(server: ControlPlane): Promise<readonly AuditEntry[]> {
  await sleep(500)
  return (await server.audit()).filter(({ user }) => user.startsWith('steady-'))
}
