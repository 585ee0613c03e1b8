import { actionsOf, isSettled, pass } from './actions.ts'
import { namedHonestly } from './coordinator.ts'
import { type Laboratory, replicaAt } from './handle.ts'
import { BrokenRule, type World } from './world.ts'

/**
 * The maximum number of ticks without a leader after the last fault. The lease expires, the holder of a lease that was created again
 * waits for another lease duration, and a replica that stepped down does not acquire for a while.
 */
const RECOVERY_TICKS = 16

/** A new replica waits for 15 s if it sees a record without a duration. */
const TICKS_WITHOUT_DURATION = 15

/** Without faults, no tick has this many steps. */
const MAX_STEPS = 2000

/** L1. Continues a world without faults and orders, each step as early as possible, and expects a leader. */
export function assertRecovers(world: World, lab: Laboratory): void {
  let next: World = { ...world, faultsLeft: 0, ordersLeft: 0 }
  const ticks = RECOVERY_TICKS + (lab.scope.canShorten ? TICKS_WITHOUT_DURATION : 0)
  const deadline = world.tick + ticks
  // Processes restart and do not know what the store has lost.
  const { canRestore, ...scope } = lab.scope
  const calm: Laboratory = { ...lab, scope: { ...scope, ...(canRestore && { canRestore: 'any' }) } }
  // A replica that starts beside a leader whose lease was shortened may act beside it. So one starts again only when nobody runs.
  const empty: Laboratory = { ...calm, scope: { ...calm.scope, canShorten: false } }
  for (let steps = 0; next.tick < deadline; steps++) {
    if (steps > MAX_STEPS) throw new BrokenRule('L1', 'time cannot pass')
    if (isLed(next)) return
    next = step(next, isRunning(next) ? calm : empty)
  }
  const states = next.replicas.map(({ identity, state }) => `${identity} is ${state.kind}`)
  throw new BrokenRule('L1', `no replica leads ${ticks} ticks after the last fault: ${states.join(', ')}`)
}

function isRunning({ replicas }: World): boolean {
  return replicas.some(({ isAlive, state }) => isAlive && state.kind !== 'stopped')
}

/** The first possible action. Time passes only if there is none. */
function step(world: World, lab: Laboratory): World {
  const [first] = actionsOf(world, lab).filter(({ name }) => name !== 'time passes')
  if (first !== undefined) return first.apply()
  if (!isSettled(world, lab)) throw new BrokenRule('L1', 'no action is possible')
  return namedHonestly(pass(world, lab), lab)
}

function isLed(world: World): boolean {
  return world.replicas.some((_, index) => {
    const { isAlive, isPaused, isBehind, state } = replicaAt(world, index)
    return isAlive && !isPaused && !isBehind && state.kind === 'leading'
  })
}
