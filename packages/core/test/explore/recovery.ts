import { actionsOf, isSettled, pass } from './actions.ts'
import { type Laboratory, replicaAt } from './handle.ts'
import { BrokenRule, type World } from './world.ts'

/**
 * How many ticks until somebody leads, once nothing goes wrong any more: the lease runs out, a lease in place of a deleted one is
 * held for as long, and a replica that stepped down does not acquire for a while.
 */
const RECOVERY_TICKS = 16

/** A record whose duration was removed protects its holder for 15 s, from when a replica that starts first sees it. */
const TICKS_WITHOUT_DURATION = 15

/** No tick has so many steps where nothing goes wrong. */
const MAX_STEPS = 2000

/** L1. Lets a world go on without faults and orders, everything as soon as it can, and expects a leader. */
export function assertRecovers(world: World, lab: Laboratory): void {
  let next: World = { ...world, faultsLeft: 0, ordersLeft: 0 }
  const ticks = RECOVERY_TICKS + (lab.scope.canShorten ? TICKS_WITHOUT_DURATION : 0)
  const deadline = world.tick + ticks
  // Processes start again, and know nothing of what the store has forgotten.
  const { canRestore, ...scope } = lab.scope
  const calm: Laboratory = { ...lab, scope: { ...scope, canShorten: false, ...(canRestore && { canRestore: 'any' }) } }
  for (let steps = 0; next.tick < deadline; steps++) {
    if (steps > MAX_STEPS) throw new BrokenRule('L1', 'time does not pass any more')
    if (isLed(next)) return
    next = step(next, calm)
  }
  const states = next.replicas.map(({ identity, state }) => `${identity} is ${state.kind}`)
  throw new BrokenRule('L1', `nobody leads ${ticks} ticks after the last fault: ${states.join(', ')}`)
}

/** The first thing that can happen apart from the passing of time, which comes when nothing else is left. */
function step(world: World, lab: Laboratory): World {
  const [first] = actionsOf(world, lab).filter(({ name }) => name !== 'time passes')
  if (first !== undefined) return first.apply()
  if (!isSettled(world, lab)) throw new BrokenRule('L1', 'nothing can happen any more')
  return pass(world, lab)
}

function isLed(world: World): boolean {
  return world.replicas.some((_, index) => {
    const { isAlive, isPaused, isBehind, state } = replicaAt(world, index)
    return isAlive && !isPaused && !isBehind && state.kind === 'leading'
  })
}
