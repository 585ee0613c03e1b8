import type { ElectorConfig, TransitionContext } from '../../src/election/machine/config.ts'
import type { ElectorEvent } from '../../src/election/machine/event.ts'
import { nextWakeAt } from '../../src/election/machine/transition.ts'
import type { ElectorState, Step } from '../../src/election/machine/state.ts'
import { readAnswer } from '../../src/election/rules/transfer-notes.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import { eraOf, excusesEpoch, excusesOverlap, withBackup } from './restoring.ts'
import { BrokenRule, clockOf, type Effect, type Replica, type Scope, TICK_MS, type World } from './world.ts'

/** The explored machine: the machine of production, or a variant with a planted defect. */
export type Machine = (state: ElectorState, event: ElectorEvent, context: TransitionContext) => Step

/** Called for every event, with the state of the machine that receives it. */
type Witness = (state: ElectorState['kind'], event: ElectorEvent['kind']) => void

/** The context of every step of an exploration. */
export interface Laboratory {
  readonly scope: Scope
  readonly machine: Machine
  readonly witness: Witness
}

/** Delivers an event to a replica, performs its effects, and wakes it until no wake-up is due. */
export function handle(world: World, index: number, event: ElectorEvent, lab: Laboratory): World {
  return wakeWhatIsDue(deliver(world, index, event, lab), index, lab)
}

/** Wakes a replica until no wake-up is due. */
export function wakeWhatIsDue(world: World, index: number, lab: Laboratory): World {
  let next = world
  for (let wakes = 0; isDue(next, index, lab); wakes++) {
    if (wakes > 20) throw new BrokenRule('L2', `${replicaAt(next, index).identity} requests wake-ups without end`)
    next = deliver(next, index, { kind: 'wake' }, lab)
  }
  return next
}

/** The replica with this index. */
export function replicaAt(world: World, index: number): Replica {
  const replica = world.replicas[index]
  if (replica === undefined) throw new Error(`There is no replica ${index}`)
  return replica
}

/** The world with a changed replica. */
export function withReplica(world: World, index: number, change: Partial<Replica>): World {
  return { ...world, replicas: world.replicas.map((one, at) => (at === index ? { ...one, ...change } : one)) }
}

/** Whether a wake-up of the replica is due. */
export function isDue(world: World, index: number, lab: Laboratory): boolean {
  const replica = replicaAt(world, index)
  if (!replica.isAlive || replica.isPaused || replica.state.kind === 'idle') return false
  const wakeAt = nextWakeAt(replica.state, configOf(replica, lab))
  return wakeAt !== undefined && wakeAt <= clockOf(world, replica)
}

export function configOf({ identity, decider, preferred, departure }: Replica, { scope }: Laboratory): ElectorConfig {
  const { config, canProveDeath, canDepart } = scope
  const ofRevision = config.isEager === true && { revision: identity }
  const ofCoordinator = { coordination: decider, preferred }
  const leaving = canDepart === true && { departure, leavesEarly: true }
  const ofProcess = canProveDeath && { processRef: identity }
  return { ...config, identity, ...ofCoordinator, ...ofRevision, ...leaving, ...ofProcess }
}

/** Ends a process. Its tasks and its memory are gone. Its writes remain in flight. */
export function endProcess(world: World, index: number): World {
  const requests = world.requests.flatMap((request) =>
    request.from !== index || request.isGhost
      ? [request]
      : request.write === undefined || request.isDone
        ? []
        : [{ ...request, isGhost: true }],
  )
  return withReplica({ ...world, requests }, index, {
    isAlive: false,
    tasks: 'none',
    isPaused: false,
    isBehind: false,
    isCutOff: false,
    watch: 'broken',
    unseen: [],
    preferred: undefined,
    granted: undefined,
  })
}

function deliver(world: World, index: number, event: ElectorEvent, lab: Laboratory): World {
  const replica = replicaAt(world, index)
  if (!replica.isAlive) return world
  lab.witness(replica.state.kind, event.kind)
  const at = { now: clockOf(world, replica), wallTime: Date.UTC(2026, 0, 1) + world.tick * TICK_MS, random: 0 }
  const { state, effects } = lab.machine(replica.state, event, {
    at,
    config: configOf(replica, lab),
  })
  let next = withReplica(world, index, { state })
  for (const effect of effects) {
    if (replicaAt(next, index).isAlive) next = carryOut(next, index, effect, lab)
  }
  return next
}

function carryOut(world: World, index: number, effect: Effect, lab: Laboratory): World {
  switch (effect.kind) {
    case 'read':
    case 'write':
      return send(world, index, effect)
    case 'begin-term':
      return beginTerm(world, index, effect, lab)
    case 'extend-validity':
    case 'shorten-validity':
      return extendValidity(world, index, effect.validUntil, lab)
    case 'end-term':
      assertAnswered(replicaAt(world, index))
      return abortTasks(world, index)
    case 'exit':
    case 'identity-taken':
      return endProcess(world, index)
    case 'term-over':
      return endTerm(world, index)
    default:
      return world
  }
}

/** A request to hand over to a replica that does not answer must not end a term. */
function assertAnswered({ identity, state }: Replica): void {
  if (state.kind !== 'draining' || state.stepDown.reason !== 'transferred') return
  const { to } = state.stepDown
  if (readAnswer(state.hold.lease.record)?.identity === to) return
  throw new BrokenRule('N2', `${identity} ends its term for ${to}, which has not answered`)
}

function abortTasks(world: World, index: number): World {
  return replicaAt(world, index).tasks === 'running' ? withReplica(world, index, { tasks: 'ending' }) : world
}

/** S5. */
function endTerm(world: World, index: number): World {
  const { identity, tasks } = replicaAt(world, index)
  if (tasks !== 'none') throw new BrokenRule('S5', `${identity} reports the end of a term while its tasks run`)
  return withReplica(world, index, { granted: undefined })
}

function send(world: World, index: number, effect: Extract<Effect, { kind: 'read' | 'write' }>): World {
  const { identity, tasks } = replicaAt(world, index)
  const write = effect.kind === 'write' ? effect.write : undefined
  const givesUp = write !== undefined && write.record.holderIdentity !== identity
  if (givesUp && tasks !== 'none') throw new BrokenRule('S3', `${identity} releases the lease while its tasks run`)
  const request = {
    from: index,
    identity,
    request: effect.request,
    write,
    sentTick: world.tick,
    isOld: false,
    isDone: false,
    isGhost: false,
  }
  return { ...world, requests: [...world.requests, request] }
}

function beginTerm(
  world: World,
  index: number,
  { epoch, validUntil }: Extract<Effect, { kind: 'begin-term' }>,
  lab: Laboratory,
): World {
  const replica = replicaAt(world, index)
  if (replica.tasks !== 'none')
    throw new BrokenRule('S5', `${replica.identity} begins a term while tasks of the last term run`)
  assertGranted(replica)
  const era = eraOf(replica.state)
  if (epoch <= world.lastEpoch && !excusesEpoch(world, era, lab.scope)) {
    throw new BrokenRule('S6', `${replica.identity} begins a term with epoch ${epoch} after ${world.lastEpoch}`)
  }
  const isLast = era >= world.restores.lastEra
  const known = isLast ? { lastEpoch: epoch, restores: { ...world.restores, lastEra: era } } : {}
  const next = withReplica({ ...world, ...known }, index, { tasks: 'running', era, validUntil })
  assertAlone(next, lab)
  return next
}

/** To be named by a coordinator is not enough. */
function assertGranted({ identity, state, granted }: Replica): void {
  const acquireTime = 'hold' in state ? state.hold.lease.record.acquireTime : undefined
  if (granted !== undefined && granted === acquireTime) return
  throw new BrokenRule(
    'N1',
    `${identity} begins a term, and neither a write of its own nor a transfer makes it the holder`,
  )
}

function extendValidity(world: World, index: number, validUntil: number, lab: Laboratory): World {
  const next = withReplica(world, index, { validUntil })
  assertAlone(next, lab)
  return next
}

/** S1. A suspended process may have tasks beyond its lease. Its check of the clock must stop them. */
function assertAlone(world: World, lab: Laboratory): void {
  const working = world.replicas.filter(
    (replica) =>
      replica.isAlive && replica.tasks !== 'none' && (!world.hasPaused || clockOf(world, replica) < replica.validUntil),
  )
  if (working.length > 1 && !excusesOverlap(world, working, lab.scope)) {
    throw new BrokenRule('S1', `${working.map(({ identity }) => identity).join(' and ')} are at work at the same time`)
  }
}

/** The world with a new state of the lease. A watch that is up reports it immediately, a late watch some time later. */
export function store(world: World, lease: LockSnapshot, lab: Laboratory): World {
  let next: World = withBackup(
    { ...world, lease, version: world.version + 1n, isNamedFree: false },
    world.lease,
    lab.scope,
  )
  for (let index = 0; index < world.replicas.length; index++) {
    const { isAlive, isPaused, isBehind, isCutOff, watch, unseen, state } = replicaAt(next, index)
    if (!isAlive || watch === 'broken' || state.kind === 'idle' || state.kind === 'stopped') continue
    const isInOrder = lab.scope.isCoordinated === true
    if (watch === 'late' || isPaused || isBehind || isCutOff || (isInOrder && unseen.length > 0))
      next = withReplica(next, index, { unseen: isInOrder ? [...unseen, lease] : missing(unseen, lease) })
    else next = handle(next, index, { kind: 'observed', snapshot: lease }, lab)
  }
  return next
}

/** The world without its lease. If holders keep the lease for life, the news of a deletion tell which record was deleted. */
export function withoutLease(world: World, lab: Laboratory): World {
  const { lease, version } = world
  const told = lab.scope.config.heldForLife === true && lease.kind === 'present' && { deleted: lease.record }
  return store(world, { kind: 'absent', version: version + 1n, ...told }, lab)
}

/** The lease as a read finds it: only the news of a deletion tell what was deleted. */
export function asRead(lease: LockSnapshot): LockSnapshot {
  if (lease.kind === 'present' || lease.deleted === undefined) return lease
  const { deleted: _, ...absent } = lease
  return absent
}

/** The unseen states of a late watch. It skips states in between, as polls do. */
function missing(unseen: readonly LockSnapshot[], lease: LockSnapshot): readonly LockSnapshot[] {
  return unseen.length < 2 ? [...unseen, lease] : [...unseen.slice(0, 1), lease]
}
