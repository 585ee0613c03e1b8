import { lastView } from '../../src/election/rules/observation.ts'
import { durationMs } from '../../src/election/rules/view.ts'
import { isTermOf } from '../../src/election/rules/term-key.ts'
import { formatMicroTime } from '../../src/lock/lease-record.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import type { Action } from './action.ts'
import { handle, type Laboratory, replicaAt, store, withReplica } from './handle.ts'
import { clockOf, type Replica, TICK_MS, TIMING, type World } from './world.ts'

/**
 * The coordinator names or prefers any replica at any time: it compares the clocks of others, and there may be two of it. The replica may have
 * ended.
 */
export function namings(world: World, lab: Laboratory): readonly Action[] {
  if (lab.scope.isCoordinated !== true) return []
  const ordered = { ...world, ordersLeft: world.ordersLeft - 1 }
  const names = world.replicas.map(({ identity }) => ({
    name: `the coordinator names ${identity}`,
    apply: () => named(ordered, identity, lab),
  }))
  return [...names, ...preferences(ordered, lab)]
}

function preferences(ordered: World, lab: Laboratory): readonly Action[] {
  const { lease, version } = ordered
  if (lease.kind === 'absent' || lease.record.holderIdentity === '') return []
  const { holderIdentity, preferredHolder } = lease.record
  return ordered.replicas
    .filter(({ identity }) => identity !== holderIdentity && identity !== preferredHolder)
    .map(({ identity }) => ({
      name: `the coordinator prefers ${identity}`,
      apply: () => {
        const record = { ...lease.record, preferredHolder: identity }
        return store(ordered, { ...lease, version: version + 1n, record }, lab)
      },
    }))
}

/** What the lock of a replica does under a coordinator: it looks at the preferred candidate, and frees the lease of a holder that is stuck or dead. */
export function lockActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const replica = replicaAt(world, index)
  if (lab.scope.isCoordinated !== true || replica.isCutOff) return []
  return [...looks(world, index, lab), ...freeings(world, index, lab), ...burials(world, index, lab)]
}

/** The answer may be out of date. What is true comes first. */
function looks(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, state, preferred } = replicaAt(world, index)
  const named = 'hold' in state ? state.hold.lease.record.preferredHolder : undefined
  if (named === undefined || named === identity || named === preferred?.identity) return []
  const lives = world.replicas.some((other) => other.isAlive && other.identity === named)
  return [lives, !lives].map((isAlive) => ({
    name: `${identity} hears that ${named} ${isAlive ? 'lives' : 'is gone'}`,
    apply: () =>
      handle(withReplica(world, index, { preferred: { identity: named, isAlive } }), index, { kind: 'wake' }, lab),
  }))
}

/**
 * The replica clears the holder and keeps the times of the record, as soon as nobody can act under it, or when it does not find the candidate
 * of a holder that was named for a free lease.
 */
function freeings(world: World, index: number, lab: Laboratory): readonly Action[] {
  const replica = replicaAt(world, index)
  const { lease } = world
  if (lease.kind === 'absent' || replica.decider !== 'server') return []
  if (!isStuck(world, replica, lab) && !isNamedInVain(world, replica)) return []
  const { preferredHolder: _, ...kept } = lease.record
  const time = formatMicroTime(wallTime(world) + 1)
  const times = lab.scope.freesEarly === true && { acquireTime: time, renewTime: time }
  const record = { ...kept, holderIdentity: '', leaseDurationSeconds: 1, ...times }
  return [
    {
      name: `${replica.identity} frees the lease of ${lease.record.holderIdentity}`,
      apply: () => store(world, { ...lease, version: world.version + 1n, record }, lab),
    },
  ]
}

/** The named holder may live: a replica that stands aside has no candidate. */
function isNamedInVain({ isNamedFree, lease }: World, { identity, state }: Replica): boolean {
  const view = 'observation' in state ? lastView(state.observation) : undefined
  if (!isNamedFree || view?.kind !== 'present' || view.lease.version !== lease.version) return false
  return view.lease.record.holderIdentity !== identity
}

/** Whether the replica has seen the lease unchanged for the longest duration that it may have, with a holder other than itself. */
function isStuck(world: World, replica: Replica, { scope }: Laboratory): boolean {
  const { identity, state } = replica
  const view = 'observation' in state ? lastView(state.observation) : undefined
  if (view?.kind !== 'present' || view.lease.version !== world.lease.version) return false
  if (['', identity].includes(view.lease.record.holderIdentity)) return false
  const longestMs = Math.max(scope.freesEarly === true ? 0 : TIMING.leaseDurationMs, durationMs(view.lease))
  return clockOf(world, replica) - view.changedAt >= longestMs
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

/** The replica releases the lease of a holder whose death is proved, as that holder would have done. */
function burials(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, state, decider } = replicaAt(world, index)
  const { lease } = world
  const { deadHolder } = state.memory
  if (lease.kind === 'absent' || decider !== 'server' || !isTermOf(lease.record, deadHolder)) return []
  const time = formatMicroTime(wallTime(world) + 1)
  const times = { leaseDurationSeconds: 1, acquireTime: time, renewTime: time }
  const record = { ...lease.record, preferredHolder: undefined, holderIdentity: '', ...times }
  return [
    {
      name: `${identity} releases the lease of ${lease.record.holderIdentity}, which is dead`,
      apply: () => store(world, { ...lease, version: world.version + 1n, record }, lab),
    },
  ]
}

function wallTime({ tick }: World): number {
  return Date.UTC(2026, 0, 1) + tick * TICK_MS
}

/** The lease as an election controller writes it: without an acquire time. */
function named(world: World, holderIdentity: string, lab: Laboratory): World {
  const { lease } = world
  const before = lease.kind === 'present' ? lease.record : { leaseTransitions: undefined, annotations: {} }
  const renewTime = formatMicroTime(wallTime(world))
  const record = { ...before, holderIdentity, leaseDurationSeconds: 1, acquireTime: undefined, renewTime }
  const { era } = world.restores
  const next: LockSnapshot = { kind: 'present', version: world.version + 1n, record, deleting: false, native: era }
  const isNamedFree = lease.kind === 'present' && lease.record.holderIdentity === ''
  return { ...store(world, next, lab), isNamedFree }
}
