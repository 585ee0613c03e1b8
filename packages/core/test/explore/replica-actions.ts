import type { ElectorState } from '../../src/election/machine/state.ts'
import { watchedHolder } from '../../src/election/phases/following.ts'
import type { Action } from './action.ts'
import { lockActions } from './coordinator.ts'
import {
  asRead,
  configOf,
  endProcess,
  handle,
  type Laboratory,
  replicaAt,
  wakeWhatIsDue,
  withReplica,
} from './handle.ts'
import { newProcess, type Replica, type Scope, type World } from './world.ts'

/** The possible next events of a replica. */
export function replicaActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, state, isAlive, isPaused, isBehind, isCutOff } = replicaAt(world, index)
  const named = (what: string, apply: () => World): Action => ({ name: `${identity} ${what}`, apply })
  if (!isAlive || state.kind === 'stopped') {
    return mayRestart(lab.scope) ? [named('starts again', () => restart(world, index))] : []
  }
  if (isPaused)
    return [named('continues after a pause', () => withReplica(world, index, { isPaused: false, isBehind: true }))]
  if (isBehind) return behindActions(world, index, lab)
  if (state.kind === 'idle' && !isCutOff) return [named('starts', () => start(world, index, lab))]
  return [
    ...networkActions(world, index, lab),
    ...workActions(world, index, lab),
    ...newsOfDeath(world, index, lab),
    ...lockActions(world, index, lab),
    ...orders(world, index, lab),
    ...replicaFaults(world, index, lab),
  ]
}

/** A new process knows neither the previous duration of a shortened lease nor what the store has lost. */
function mayRestart({ canShorten = false, canRestore }: Scope): boolean {
  return !canShorten && canRestore !== 'known'
}

/** Reports of the watch, and recovery of connections. */
function networkActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, unseen, watch, isCutOff } = replicaAt(world, index)
  const actions: Action[] = []
  const add = (what: string, apply: () => World) => actions.push({ name: `${identity} ${what}`, apply })
  if (isCutOff) add('is connected to the network again', () => withReplica(world, index, { isCutOff: false }))
  if (unseen.length > 0 && !isCutOff) add('sees the lease', () => see(world, index, lab))
  if (watch === 'late' && unseen.length === 0) {
    add('has a watch without delay again', () => withReplica(world, index, { watch: 'up' }))
  }
  if (watch === 'broken' && !isCutOff) add('watches again', () => watchAgain(world, index, lab))
  return actions
}

/** Only of a holder that has published its process. */
function newsOfDeath(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, state, isCutOff } = replicaAt(world, index)
  const holder = watchedHolder(state, configOf(replicaAt(world, index), lab))
  if (holder === undefined || holder.processRef === '' || isCutOff) return []
  if (world.replicas.some((one) => one.isAlive && one.identity === holder.identity)) return []
  const apply = () => handle(world, index, { kind: 'holder-dead', holder }, lab)
  return [{ name: `${identity} hears that ${holder.identity} is dead`, apply }]
}

/** The stages of the work of an ending term. */
function workActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, tasks } = replicaAt(world, index)
  if (tasks !== 'ending' && tasks !== 'cleaning') return []
  const becomes = (what: string, next: Replica['tasks'], kind: 'cleaning' | 'cleanup-overdue' | 'drained'): Action => ({
    name: `${identity} ${what}`,
    apply: () => handle(withReplica(world, index, { tasks: next }), index, { kind }, lab),
  })
  const ended = becomes('has ended all work', 'none', 'drained')
  return tasks === 'ending'
    ? [ended, becomes('has only cleanups left', 'cleaning', 'cleaning')]
    : [ended, becomes('has cleanups that take too long', 'cleaning', 'cleanup-overdue')]
}

/** After a pause, the replica handles either its timers or a report of the watch first. */
function behindActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, unseen } = replicaAt(world, index)
  const actions: Action[] = [
    {
      name: `${identity} handles its timers`,
      apply: () => wakeWhatIsDue(withReplica(world, index, { isBehind: false }), index, lab),
    },
  ]
  if (unseen.length > 0) actions.push({ name: `${identity} first sees the lease`, apply: () => see(world, index, lab) })
  return actions
}

/** The replica hears the other answer to its question who decides, rightly or not. */
function secondThoughts(ordered: World, index: number, lab: Laboratory): Action {
  const { identity, decider } = replicaAt(ordered, index)
  const next = decider === 'server' ? 'peers' : 'server'
  const name = next === 'server' ? 'a coordinator decides' : 'the replicas decide'
  const apply = () => handle(withReplica(ordered, index, { decider: next }), index, { kind: 'wake' }, lab)
  return { name: `${identity} hears that ${name}`, apply }
}

/** The replica hears that it is about to be stopped, that its machine is drained, or that the drain was called off. */
function departures(ordered: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, departure } = replicaAt(ordered, index)
  if (lab.scope.canDepart !== true) return []
  const hears = (what: string, next: Replica['departure']): Action => ({
    name: `${identity} hears that ${what}`,
    apply: () => handle(withReplica(ordered, index, { departure: next }), index, { kind: 'wake' }, lab),
  })
  switch (departure) {
    case 'stopping':
      return []
    case 'draining':
      return [hears('its place is deleted', 'stopping'), hears('its machine stays', undefined)]
    default:
      return [hears('its place is deleted', 'stopping'), hears('its machine is drained', 'draining')]
  }
}

/** The states in which a candidacy has a term that can end voluntarily. */
const HAVE_TERM: ReadonlySet<ElectorState['kind']> = new Set(['leading', 'draining', 'aborting', 'releasing'])

function orders(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, state } = replicaAt(world, index)
  if (world.ordersLeft === 0) return []
  const ordered = { ...world, ordersLeft: world.ordersLeft - 1 }
  const stop: Action = {
    name: `${identity} stops`,
    apply: () => handle(ordered, index, { kind: 'stop' }, lab),
  }
  const actions = [stop, ...departures(ordered, index, lab)]
  if (lab.scope.isCoordinated === true) actions.push(secondThoughts(ordered, index, lab))
  if (!HAVE_TERM.has(state.kind)) return actions
  actions.push({
    name: `${identity} steps down`,
    apply: () => handle(ordered, index, { kind: 'step-down', reason: 'step-down', cooldownMs: 1000 }, lab),
  })
  if (state.kind === 'releasing') return actions
  actions.push({
    name: `${identity} abandons its term`,
    apply: () => handle(ordered, index, { kind: 'lost', reason: 'stalled' }, lab),
  })
  return actions
}

function replicaFaults(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, watch, isCutOff } = replicaAt(world, index)
  if (world.faultsLeft === 0) return []
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  const actions: Action[] = [
    { name: `${identity} crashes`, apply: () => endProcess(faulty, index) },
    {
      name: `${identity} is suspended`,
      apply: () => withReplica({ ...faulty, hasPaused: true }, index, { isPaused: true }),
    },
  ]
  if (isCutOff) return actions
  actions.push({ name: `${identity} is cut off`, apply: () => withReplica(faulty, index, { isCutOff: true }) })
  if (watch !== 'up') return actions
  return [
    ...actions,
    { name: `${identity} has a delayed watch`, apply: () => withReplica(faulty, index, { watch: 'late' }) },
    {
      name: `${identity} loses its watch`,
      apply: () =>
        handle(withReplica(faulty, index, { watch: 'broken', unseen: [] }), index, { kind: 'watch-down' }, lab),
    },
  ]
}

function start(world: World, index: number, lab: Laboratory): World {
  const started = handle(world, index, { kind: 'start' }, lab)
  return connect(started, index, lab)
}

function restart(world: World, index: number): World {
  const { life, rate, decider } = replicaAt(world, index)
  const process: Replica = newProcess({ index, life: life + 1, rate, decider })
  const gone = endProcess(world, index)
  return { ...gone, replicas: gone.replicas.map((one, at) => (at === index ? process : one)) }
}

function see(world: World, index: number, lab: Laboratory): World {
  const [snapshot, ...unseen] = replicaAt(world, index).unseen
  if (snapshot === undefined) return world
  return handle(withReplica(world, index, { unseen }), index, { kind: 'observed', snapshot }, lab)
}

function watchAgain(world: World, index: number, lab: Laboratory): World {
  return connect(withReplica(world, index, { watch: 'up' }), index, lab)
}

/** A new watch reports the current lease, and is up. */
function connect(world: World, index: number, lab: Laboratory): World {
  const seen = handle(world, index, { kind: 'observed', snapshot: asRead(world.lease) }, lab)
  if (replicaAt(seen, index).state.kind === 'stopped') return seen
  return handle(seen, index, { kind: 'watch-up' }, lab)
}
