import { formatMicroTime } from '../../src/lock/lease-record.ts'
import type { Action } from './action.ts'
import { type Laboratory, store } from './handle.ts'
import { TICK_MS, type World } from './world.ts'

/** The coordinator names any replica at any time: it compares the clocks of others, and there may be two of it. */
export function namings(world: World, lab: Laboratory): readonly Action[] {
  if (lab.scope.isCoordinated !== true) return []
  const ordered = { ...world, ordersLeft: world.ordersLeft - 1 }
  return world.replicas.map(({ identity }) => ({
    name: `the coordinator names ${identity}`,
    apply: () => named(ordered, identity, lab),
  }))
}

/** The world in which an honest coordinator has named a replica, if the lease has no holder that lives. */
export function namedHonestly(world: World, lab: Laboratory): World {
  if (lab.scope.isCoordinated !== true) return world
  const { lease } = world
  const holder = lease.kind === 'present' ? lease.record.holderIdentity : ''
  const candidates = world.replicas.filter(
    ({ isAlive, decider, state }) => isAlive && decider === 'server' && state.kind === 'following',
  )
  const isHeld = world.replicas.some(({ identity, state }) => identity === holder && state.kind !== 'following')
  const [first] = candidates
  return isHeld || first === undefined ? world : named(world, first.identity, lab)
}

/** The lease as an election controller writes it: without an acquire time. */
function named(world: World, holderIdentity: string, lab: Laboratory): World {
  const { lease } = world
  const before = lease.kind === 'present' ? lease.record : { leaseTransitions: undefined, annotations: {} }
  const renewTime = formatMicroTime(Date.UTC(2026, 0, 1) + world.tick * TICK_MS)
  const record = { ...before, holderIdentity, leaseDurationSeconds: 1, acquireTime: undefined, renewTime }
  const { era } = world.restores
  return store(world, { kind: 'present', version: world.version + 1n, record, deleting: false, native: era }, lab)
}
