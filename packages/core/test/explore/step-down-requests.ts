import { withRequest } from '../../src/election/rules/step-down-request.ts'
import type { Action } from './action.ts'
import { type Laboratory, store } from './handle.ts'
import type { World } from './world.ts'

/** An operator requests through the lease that its holder steps down: to any replica, to one by name, or to none that exists. */
export function stepDownRequests(world: World, lab: Laboratory): readonly Action[] {
  const { lease } = world
  if (lab.scope.canRequest !== true || lease.kind === 'absent' || lease.record.holderIdentity === '') return []
  const ordered = { ...world, ordersLeft: world.ordersLeft - 1 }
  const version = world.version + 1n
  const request = (name: string, to?: string): Action => ({
    name,
    apply: () => store(ordered, { ...lease, version, record: withRequest(lease.record, { id: 'request', to }) }, lab),
  })
  const others = world.replicas.filter(({ identity }) => identity !== lease.record.holderIdentity)
  return [
    request('an operator requests a step-down'),
    request('an operator requests a transfer to nobody', 'nobody'),
    ...others.map(({ identity }) => request(`an operator requests a transfer to ${identity}`, identity)),
  ]
}
