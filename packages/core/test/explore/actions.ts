import type { ElectorState } from '../../src/election/machine/state.ts'
import { watchedHolder } from '../../src/election/phases/following.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'
import { failed } from '../election/pure-elector.ts'
import { endProcess, handle, isDue, type Laboratory, replicaAt, store, wakeWhatIsDue, withReplica } from './handle.ts'
import { wentBack, withMixNoted } from './restoring.ts'
import { BrokenRule, newProcess, type Replica, type Request, type World } from './world.ts'

/** Something that can happen. */
export interface Action {
  readonly name: string
  readonly apply: () => World
}

/** Everything that can happen in a world. The order is fixed, so that the numbers of its actions identify a history. */
export function actionsOf(world: World, lab: Laboratory): readonly Action[] {
  const actions: Action[] = []
  for (const request of world.requests) actions.push(...requestActions(world, request, lab))
  for (let index = 0; index < world.replicas.length; index++) actions.push(...replicaActions(world, index, lab))
  if (world.faultsLeft > 0) actions.push(...leaseFaults(world, lab), ...restorations(world, lab))
  if (isSettled(world, lab)) actions.push({ name: 'time passes', apply: () => pass(world, lab) })
  return actions
}

/** Whether all that happens at once has happened, so that time can pass. */
export function isSettled(world: World, lab: Laboratory): boolean {
  if (world.requests.some((request) => !request.isGhost && !replicaAt(world, request.from).isPaused)) return false
  return world.replicas.every((replica, index) => {
    if (!replica.isAlive || replica.isPaused) return true
    if (replica.watch === 'up' && !replica.isCutOff && replica.unseen.length > 0) return false
    return replica.state.kind !== 'idle' && !replica.isBehind && !isDue(world, index, lab)
  })
}

/** One tick: first waits time out, then wake-ups are due, before anything else happens at that moment. */
export function pass(world: World, lab: Laboratory): World {
  let next: World = { ...world, tick: world.tick + 1 }
  for (let index = 0; index < next.replicas.length; index++) next = wakeWhatIsDue(next, index, lab)
  return next
}

function requestActions(world: World, request: Request, lab: Laboratory): readonly Action[] {
  const { from, identity, write, isGhost } = request
  const replica = replicaAt(world, from)
  const what = `${write?.purpose ?? 'read'} of ${identity}`
  if (isGhost) return [{ name: `${what} takes effect late`, apply: () => perform(world, request, lab).world }]
  if (replica.isPaused)
    return request.isDone
      ? []
      : [{ name: `${what} takes effect, its answer waits`, apply: () => performUnheard(world, request, lab) }]
  if (request.isDone || request.sentTick < world.tick) {
    const rest = request.isDone || write === undefined ? without(world, request) : asGhost(world, request)
    return [{ name: `${what} is given up`, apply: () => timeOut(rest, request, lab) }]
  }
  if (replica.isCutOff)
    return [{ name: `${what} is lost`, apply: () => timeOut(without(world, request), request, lab) }]
  const actions: Action[] = [
    {
      name: `${what} takes effect and is answered`,
      apply: () => {
        const { world: done, answer } = perform(world, request, lab)
        return answer(done)
      },
    },
  ]
  if (world.faultsLeft === 0) return actions
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  actions.push(
    { name: `${what} is lost`, apply: () => timeOut(without(faulty, request), request, lab) },
    {
      name: `${what} is refused`,
      apply: () => answerWith(without(faulty, request), request, failed('forbidden'), lab),
    },
  )
  if (write === undefined) return actions
  actions.push(
    { name: `${what} takes effect, its answer is lost`, apply: () => answerLost(faulty, request, lab) },
    {
      name: `${what} is under way for too long`,
      apply: () => timeOut(asGhost(faulty, request), request, lab),
    },
    {
      name: `${what} arrives twice`,
      apply: () => {
        const copied = { ...faulty, requests: [...faulty.requests, { ...request, isGhost: true }] }
        const { world: done, answer } = perform(copied, request, lab)
        return answer(done)
      },
    },
  )
  return actions
}

/** Takes effect while nobody can hear of it. */
function performUnheard(world: World, request: Request, lab: Laboratory): World {
  const { world: done } = perform(world, request, lab)
  return { ...done, requests: [...done.requests, { ...request, isDone: true }] }
}

/** The answer never comes: the replica gives up waiting for it. */
function answerLost(world: World, request: Request, lab: Laboratory): World {
  return timeOut(perform(world, request, lab).world, request, lab)
}

function timeOut(world: World, request: Request, lab: Laboratory): World {
  return answerWith(world, request, failed('unknown-outcome'), lab)
}

/** Takes effect on the stored lease. */
function perform(
  world: World,
  request: Request,
  lab: Laboratory,
): { readonly world: World; readonly answer: (world: World) => World } {
  const next = without(world, request)
  const { write } = request
  if (write === undefined) {
    const snapshot = next.lease
    return {
      world: next,
      answer: (done) =>
        handle(
          done,
          request.from,
          { kind: 'read-answer', request: request.request, result: { kind: 'read', snapshot } },
          lab,
        ),
    }
  }
  const refusal = refusalOf(next, write.base?.version)
  if (refusal !== undefined) return { world: next, answer: (done) => answerWith(done, request, failed(refusal), lab) }
  const noted = withMixNoted(next, request)
  assertOwnRelease(noted, request)
  const { era } = next.restores
  const lease = {
    kind: 'present',
    version: next.version + 1n,
    record: write.record,
    deleting: false,
    native: era,
  } as const
  return {
    world: store(noted, lease, lab),
    answer: (done) => answerWith(done, request, { kind: 'written', lease }, lab),
  }
}

function refusalOf(world: World, base: bigint | undefined): 'conflict' | 'not-found' | undefined {
  if (base === undefined) return world.lease.kind === 'present' ? 'conflict' : undefined
  if (world.lease.kind === 'absent') return 'not-found'
  return world.lease.version === base ? undefined : 'conflict'
}

/** S4. */
function assertOwnRelease(world: World, { identity, write }: Request): void {
  if ((write?.purpose !== 'release' && write?.purpose !== 'transfer') || world.lease.kind !== 'present') return
  if (world.restores.isMixed) return
  const { holderIdentity } = world.lease.record
  if (holderIdentity !== identity) throw new BrokenRule('S4', `${identity} gives up the lease of ${holderIdentity}`)
}

function answerWith(
  world: World,
  request: Request,
  result:
    | ReturnType<typeof failed>
    | { readonly kind: 'written'; readonly lease: Extract<LockSnapshot, { kind: 'present' }> },
  lab: Laboratory,
): World {
  const { from, identity, request: number, write } = request
  if (replicaAt(world, from).identity !== identity) return world
  if (write !== undefined) return handle(world, from, { kind: 'write-answer', request: number, result }, lab)
  if (result.kind === 'written') return world
  return handle(world, from, { kind: 'read-answer', request: number, result }, lab)
}

function without(world: World, request: Request): World {
  return { ...world, requests: world.requests.filter((one) => one !== request) }
}

function asGhost(world: World, request: Request): World {
  return {
    ...world,
    requests: world.requests.map((one) => (one === request ? { ...one, isGhost: true } : one)),
  }
}

function replicaActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const replica = replicaAt(world, index)
  const { identity, state } = replica
  const named = (what: string, apply: () => World): Action => ({ name: `${identity} ${what}`, apply })
  const actions: Action[] = []
  if (!replica.isAlive || state.kind === 'stopped') {
    if (lab.scope.canShorten === true || lab.scope.canRestore === 'known') return []
    return [named('starts again', () => restart(world, index))]
  }
  if (replica.isPaused) return [named('goes on', () => withReplica(world, index, { isPaused: false, isBehind: true }))]
  if (replica.isBehind) return behindActions(world, index, lab)
  if (replica.isCutOff) {
    actions.push(named('is reached again', () => withReplica(world, index, { isCutOff: false })))
  }
  if (state.kind === 'idle' && !replica.isCutOff) return [named('starts', () => start(world, index, lab))]
  const [news] = replica.unseen
  if (news !== undefined && !replica.isCutOff) actions.push(named('sees the lease', () => see(world, index, lab)))
  if (replica.watch === 'late' && news === undefined) {
    actions.push(named('has a watch in time again', () => withReplica(world, index, { watch: 'up' })))
  }
  if (replica.watch === 'broken' && !replica.isCutOff)
    actions.push(named('watches again', () => watchAgain(world, index, lab)))
  actions.push(...workActions(world, index, lab))
  const holder = watchedHolder(state)
  if (
    holder !== undefined &&
    !replica.isCutOff &&
    !world.replicas.some((one) => one.isAlive && one.identity === holder.identity)
  ) {
    actions.push(
      named(`hears that ${holder.identity} is dead`, () => handle(world, index, { kind: 'holder-dead', holder }, lab)),
    )
  }
  actions.push(...orders(world, index, lab))
  if (world.faultsLeft > 0) actions.push(...replicaFaults(world, index, lab))
  return actions
}

/** What may become of the work of a term that ends. */
function workActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, tasks } = replicaAt(world, index)
  if (tasks !== 'ending' && tasks !== 'cleaning') return []
  const becomes = (what: string, next: Replica['tasks'], kind: 'cleaning' | 'cleanup-overdue' | 'drained'): Action => ({
    name: `${identity} ${what}`,
    apply: () => handle(withReplica(world, index, { tasks: next }), index, { kind }, lab),
  })
  const ended = becomes('has ended its tasks', 'none', 'drained')
  return tasks === 'ending'
    ? [ended, becomes('has nothing but cleanups left', 'cleaning', 'cleaning')]
    : [ended, becomes('has cleanups that take too long', 'cleaning', 'cleanup-overdue')]
}

/** After a pause either the clock or what came in meanwhile is looked at first. */
function behindActions(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, unseen } = replicaAt(world, index)
  const actions: Action[] = [
    {
      name: `${identity} looks at its clock`,
      apply: () => wakeWhatIsDue(withReplica(world, index, { isBehind: false }), index, lab),
    },
  ]
  if (unseen.length > 0) actions.push({ name: `${identity} first sees the lease`, apply: () => see(world, index, lab) })
  return actions
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
  const actions = [stop]
  if (!HAVE_TERM.has(state.kind)) return actions
  actions.push({
    name: `${identity} steps down`,
    apply: () => handle(ordered, index, { kind: 'step-down', reason: 'step-down', cooldownMs: 1000 }, lab),
  })
  if (state.kind === 'releasing') return actions
  actions.push({
    name: `${identity} gives its term up`,
    apply: () => handle(ordered, index, { kind: 'lost', reason: 'stalled' }, lab),
  })
  return actions
}

function replicaFaults(world: World, index: number, lab: Laboratory): readonly Action[] {
  const { identity, watch, isCutOff } = replicaAt(world, index)
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
    { name: `${identity} has a late watch`, apply: () => withReplica(faulty, index, { watch: 'late' }) },
    {
      name: `${identity} loses its watch`,
      apply: () =>
        handle(withReplica(faulty, index, { watch: 'broken', unseen: [] }), index, { kind: 'watch-down' }, lab),
    },
  ]
}

function leaseFaults(world: World, lab: Laboratory): readonly Action[] {
  const { lease } = world
  if (lease.kind === 'absent') return []
  const faulty = { ...world, faultsLeft: world.faultsLeft - 1 }
  const version = world.version + 1n
  const edit: Action = { name: 'the lease is edited', apply: () => store(faulty, { ...lease, version }, lab) }
  const edits = lab.scope.canShorten === true ? [edit, ...shortenings(faulty, lease, lab)] : [edit]
  if (lab.scope.config.missingLease !== 'wait') return edits
  return [...edits, { name: 'the lease is deleted', apply: () => store(faulty, { kind: 'absent', version }, lab) }]
}

/** Somebody states another duration, or empties the holder, and leaves the times of the record as they are. */
function shortenings(faulty: World, lease: PresentLease, lab: Laboratory): readonly Action[] {
  const isUnknown = faulty.replicas.some((replica) => replica.isAlive && !knows(replica, lease.record))
  if (lease.record.holderIdentity === '' || isUnknown) return []
  const version = faulty.version + 1n
  const changed = (name: string, change: Partial<LeaseRecord>): Action => ({
    name,
    apply: () => store(faulty, { ...lease, version, record: { ...lease.record, ...change } }, lab),
  })
  return [
    changed('the duration is shortened', { leaseDurationSeconds: 1 }),
    changed('the duration is removed', { leaseDurationSeconds: undefined }),
    changed('the holder is emptied', { holderIdentity: '' }),
  ]
}

/** The store goes back to an earlier state. */
function restorations(world: World, lab: Laboratory): readonly Action[] {
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

function start(world: World, index: number, lab: Laboratory): World {
  const started = handle(world, index, { kind: 'start' }, lab)
  return connect(started, index, lab)
}

function restart(world: World, index: number): World {
  const { life, rate } = replicaAt(world, index)
  const process: Replica = newProcess(index, life + 1, rate)
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

/** A new watch reports the lease as it is, and is up. */
function connect(world: World, index: number, lab: Laboratory): World {
  const seen = handle(world, index, { kind: 'observed', snapshot: world.lease }, lab)
  if (replicaAt(seen, index).state.kind === 'stopped') return seen
  return handle(seen, index, { kind: 'watch-up' }, lab)
}
