import type { Action } from './action.ts'
import { namings } from './coordinator.ts'
import { isDue, type Laboratory, replicaAt, wakeWhatIsDue } from './handle.ts'
import { collections, leaseFaults, restorations } from './lease-faults.ts'
import { replicaActions } from './replica-actions.ts'
import { requestActions } from './request-actions.ts'
import { stepDownRequests } from './step-down-requests.ts'
import type { World } from './world.ts'

/** Every possible next event of a world. The order is fixed, so that the numbers of the actions identify a history. */
export function actionsOf(world: World, lab: Laboratory): readonly Action[] {
  const actions: Action[] = []
  for (const request of world.requests) actions.push(...requestActions(world, request, lab))
  for (let index = 0; index < world.replicas.length; index++) actions.push(...replicaActions(world, index, lab))
  actions.push(...collections(world, lab))
  if (world.faultsLeft > 0) actions.push(...leaseFaults(world, lab), ...restorations(world, lab))
  if (world.ordersLeft > 0) actions.push(...namings(world, lab), ...stepDownRequests(world, lab))
  if (isSettled(world, lab)) actions.push({ name: 'time passes', apply: () => pass(world, lab) })
  return actions
}

/** Whether every immediate event has happened, so that time can pass. */
export function isSettled(world: World, lab: Laboratory): boolean {
  if (world.requests.some((request) => !request.isGhost && !replicaAt(world, request.from).isPaused)) return false
  return world.replicas.every((replica, index) => {
    if (!replica.isAlive || replica.isPaused) return true
    if (replica.watch === 'up' && !replica.isCutOff && replica.unseen.length > 0) return false
    return replica.state.kind !== 'idle' && !replica.isBehind && !isDue(world, index, lab)
  })
}

/** One tick. All wake-ups that are due come before every other event of that moment. */
export function pass(world: World, lab: Laboratory): World {
  let next: World = { ...world, tick: world.tick + 1 }
  for (let index = 0; index < next.replicas.length; index++) next = wakeWhatIsDue(next, index, lab)
  return next
}
