import type { ElectorConfig, TransitionContext } from '../../src/election/machine/config.ts'
import type { ElectorEvent } from '../../src/election/machine/event.ts'
import { nextWakeAt } from '../../src/election/machine/transition.ts'
import type { ElectorState, Step } from '../../src/election/machine/state.ts'
import type { LockSnapshot } from '../../src/lock/lock.ts'
import { eraOf, excusesEpoch, excusesOverlap, withBackup } from './restoring.ts'
import { BrokenRule, clockOf, type Effect, type Replica, type Scope, TICK_MS, type World } from './world.ts'

/** The machine that is explored: that of production, or one with a planted defect. */
export type Machine = (state: ElectorState, event: ElectorEvent, context: TransitionContext) => Step

/** Called with every event that a machine in some state is given. */
type Witness = (state: ElectorState['kind'], event: ElectorEvent['kind']) => void

/** What every step of an exploration needs. */
export interface Laboratory {
  readonly scope: Scope
  readonly machine: Machine
  readonly witness: Witness
}

/** Gives a replica an event, carries out what follows, and wakes it as long as it wants to be woken at once. */
export function handle(world: World, index: number, event: ElectorEvent, lab: Laboratory): World {
  return wakeWhatIsDue(deliver(world, index, event, lab), index, lab)
}

/** Wakes a replica that wants to be woken by now. */
export function wakeWhatIsDue(world: World, index: number, lab: Laboratory): World {
  let next = world
  for (let wakes = 0; isDue(next, index, lab); wakes++) {
    if (wakes > 20) throw new BrokenRule('L2', `${replicaAt(next, index).identity} wants to be woken again and again`)
    next = deliver(next, index, { kind: 'wake' }, lab)
  }
  return next
}

/** The replica of that number. */
export function replicaAt(world: World, index: number): Replica {
  const replica = world.replicas[index]
  if (replica === undefined) throw new Error(`There is no replica ${index}`)
  return replica
}

/** The world with a changed replica. */
export function withReplica(world: World, index: number, change: Partial<Replica>): World {
  return { ...world, replicas: world.replicas.map((one, at) => (at === index ? { ...one, ...change } : one)) }
}

/** Whether a replica wants to be woken by now. */
export function isDue(world: World, index: number, lab: Laboratory): boolean {
  const replica = replicaAt(world, index)
  if (!replica.isAlive || replica.isPaused || replica.state.kind === 'idle') return false
  const wakeAt = nextWakeAt(replica.state, configOf(replica, lab))
  return wakeAt !== undefined && wakeAt <= clockOf(world, replica)
}

function configOf({ identity }: Replica, { scope }: Laboratory): ElectorConfig {
  return scope.canProveDeath ? { ...scope.config, identity, processRef: identity } : { ...scope.config, identity }
}

/** Ends a process: its tasks and its memory are gone, what it has sent is under way. */
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

function abortTasks(world: World, index: number): World {
  return replicaAt(world, index).tasks === 'running' ? withReplica(world, index, { tasks: 'ending' }) : world
}

/** S5. */
function endTerm(world: World, index: number): World {
  const { identity, tasks } = replicaAt(world, index)
  if (tasks !== 'none') throw new BrokenRule('S5', `${identity} ends a term over its tasks`)
  return world
}

function send(world: World, index: number, effect: Extract<Effect, { kind: 'read' | 'write' }>): World {
  const { identity, tasks } = replicaAt(world, index)
  const write = effect.kind === 'write' ? effect.write : undefined
  const givesUp = write !== undefined && write.record.holderIdentity !== identity
  if (givesUp && tasks !== 'none') throw new BrokenRule('S3', `${identity} gives up the lease over its tasks`)
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
  if (replica.tasks !== 'none') throw new BrokenRule('S5', `${replica.identity} begins a term over its tasks`)
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

function extendValidity(world: World, index: number, validUntil: number, lab: Laboratory): World {
  const next = withReplica(world, index, { validUntil })
  assertAlone(next, lab)
  return next
}

/** S1. A process that was suspended may have tasks beyond its lease; what it then asks of its clock has to stop them. */
function assertAlone(world: World, lab: Laboratory): void {
  const working = world.replicas.filter(
    (replica) =>
      replica.isAlive && replica.tasks !== 'none' && (!world.hasPaused || clockOf(world, replica) < replica.validUntil),
  )
  if (working.length > 1 && !excusesOverlap(world, working, lab.scope)) {
    throw new BrokenRule('S1', `${working.map(({ identity }) => identity).join(' and ')} are at work at once`)
  }
}

/** The world with a lease that was written or deleted: every watch that is up reports it at once, a late one some time. */
export function store(world: World, lease: LockSnapshot, lab: Laboratory): World {
  let next: World = withBackup({ ...world, lease, version: world.version + 1n }, world.lease, lab.scope)
  for (let index = 0; index < world.replicas.length; index++) {
    const { isAlive, isPaused, isBehind, isCutOff, watch, unseen, state } = replicaAt(next, index)
    if (!isAlive || watch === 'broken' || state.kind === 'idle' || state.kind === 'stopped') continue
    if (watch === 'late' || isPaused || isBehind || isCutOff)
      next = withReplica(next, index, { unseen: missing(unseen, lease) })
    else next = handle(next, index, { kind: 'observed', snapshot: lease }, lab)
  }
  return next
}

/** What a watch that reports nothing has to make up for; what it missed in between it sees in one piece. */
function missing(unseen: readonly LockSnapshot[], lease: LockSnapshot): readonly LockSnapshot[] {
  return unseen.length < 2 ? [...unseen, lease] : [...unseen.slice(0, 1), lease]
}
