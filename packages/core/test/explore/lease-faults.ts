import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import type { Action } from './action.ts'
import { type Laboratory, store, withoutLease } from './handle.ts'
import { wentBack } from './restoring.ts'
import type { Replica, World } from './world.ts'

/** The faults of the stored lease. */
export function leaseFaults(world: World, lab: Laboratory): readonly Action[] {
  const { lease } = world
  if (lease.kind === 'absent') return []
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  const version = world.version + 1n
  const edit: Action = { name: 'a client edits the lease', apply: () => store(faulty, { ...lease, version }, lab) }
  const edits = lab.scope.canShorten === true ? [edit, ...shortenings(faulty, lease, lab)] : [edit]
  if (lab.scope.config.missingLease !== 'wait') return edits
  return [...edits, { name: 'a client deletes the lease', apply: () => withoutLease(faulty, lab) }]
}

/**
 * The garbage collector deletes a lease that a process has kept for life, some time after the process has ended, or has released the lease: its
 * Pod may end at any time after that.
 */
export function collections(world: World, lab: Laboratory): readonly Action[] {
  const { lease, replicas } = world
  if (lab.scope.config.heldForLife !== true || lease.kind === 'absent') return []
  const { holderIdentity } = lease.record
  if (replicas.some(({ identity, isAlive }) => isAlive && identity === holderIdentity)) return []
  return [{ name: 'the garbage collector deletes the lease', apply: () => withoutLease(world, lab) }]
}

/** A client changes the duration or clears the holder, and keeps the times of the record. */
function shortenings(faulty: World, lease: PresentLease, lab: Laboratory): readonly Action[] {
  const isUnknown = faulty.replicas.some((replica) => replica.isAlive && !knows(replica, lease.record))
  if (lease.record.holderIdentity === '' || isUnknown) return []
  const version = faulty.version + 1n
  const changed = (name: string, change: Partial<LeaseRecord>): Action => ({
    name,
    apply: () => store(faulty, { ...lease, version, record: { ...lease.record, ...change } }, lab),
  })
  return [
    changed('a client shortens the duration', { leaseDurationSeconds: 1 }),
    changed('a client removes the duration', { leaseDurationSeconds: undefined }),
    changed('a client clears the holder', { holderIdentity: '' }),
  ]
}

/** The store returns to an earlier state. */
export function restorations(world: World, lab: Laboratory): readonly Action[] {
  const { lease, replicas, restores } = world
  const isKnown =
    lease.kind === 'present' && replicas.every((replica) => !replica.isAlive || knows(replica, lease.record))
  const isWriting = world.requests.some((request) => request.write !== undefined)
  if (lab.scope.canRestore === 'known' && (!isKnown || isWriting)) return []
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  return restores.backups.map((backup) => ({
    name: `the store goes back from version ${world.version} to ${backup.version}`,
    apply: () => store(wentBack(faulty, backup), backup, lab),
  }))
}

/** Whether a replica has seen the term of this record. */
function knows({ identity, state }: Replica, { holderIdentity, acquireTime }: LeaseRecord): boolean {
  if (holderIdentity === identity) return state.kind !== 'idle'
  if (!('observation' in state) || state.observation.kind !== 'present') return false
  return state.observation.lease.record.acquireTime === acquireTime
}
