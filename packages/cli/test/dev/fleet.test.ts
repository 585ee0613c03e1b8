import { VirtualClock } from '@tenure/testing/virtual-clock'
import { expect, test } from 'vitest'
import { Fleet, type FleetOptions } from '../../src/dev/fleet.ts'
import type { ReplicaProcess } from '../../src/dev/replica-process.ts'

/** A process that ends at its first SIGTERM. */
function obedientProcess(onEnd: () => void): ReplicaProcess {
  const end = Promise.withResolvers<string>()
  let isLeft = true
  return {
    pid: 1,
    ended: end.promise,
    signal: () => {
      isLeft = false
      onEnd()
      end.resolve('exited with 0')
    },
    isLeft: () => isLeft,
    close: async () => {},
  }
}

/** Three replicas on virtual time, and what happened to them. */
async function startFleet(given: Partial<FleetOptions> = {}) {
  const clock = new VirtualClock()
  const did: string[] = []
  const terminal = {
    clock,
    random: () => 0,
    out: () => {},
    err: () => {},
    columns: undefined,
    keys: undefined,
    env: {},
    interrupted: new AbortController().signal,
  }
  const fleet = new Fleet({
    size: 3,
    faults: { add: () => ({ hits: 0, remove: () => void did.push('connect') }), closeWatches: () => 0 } as never,
    launch: async (name) => {
      did.push(`start ${name}`)
      return obedientProcess(() => did.push(`end ${name}`))
    },
    isReady: async () => true,
    leaders: async () => new Set(['replica-1']),
    say: () => {},
    stopTimeoutMs: 1000,
    terminal,
    ...given,
  })
  await clock.advance(0)
  did.length = 0
  return { clock, did, fleet }
}

test('a restart goes through the replicas one after the other, the leader last', async () => {
  const { clock, did, fleet } = await startFleet()
  const restarted = fleet.restart()
  await clock.advance(1000)
  await restarted
  expect(did).toEqual([2, 3, 1].flatMap((number) => [`end replica-${number}`, `start replica-${number}`]))
  await fleet.stop()
})

test('a restart waits for a replica to be ready, but not forever', async () => {
  const { clock, did, fleet } = await startFleet({ isReady: async () => false })
  const restarted = fleet.restart()
  await clock.advance(4000)
  expect(did).toEqual(['end replica-2', 'start replica-2'])
  await clock.advance(12_000)
  await restarted
  expect(did).toHaveLength(6)
  await fleet.stop()
})

test('changes during a restart lead to one more restart', async () => {
  const { clock, did, fleet } = await startFleet()
  const restarted = fleet.restart()
  void fleet.restart()
  void fleet.restart()
  await clock.advance(2000)
  await restarted
  expect(did.filter((what) => what === 'start replica-1')).toHaveLength(2)
  await fleet.stop()
})

test('a replica is cut off and connected again', async () => {
  const { did, fleet } = await startFleet()
  fleet.toggleCut('replica-2')
  expect(fleet.facts.map(({ isCutOff }) => isCutOff)).toEqual([false, true, false])
  fleet.toggleCut('replica-2')
  expect(fleet.facts.map(({ isCutOff }) => isCutOff)).toEqual([false, false, false])
  expect(did).toEqual(['connect'])
  fleet.toggleCut('no-such-replica')
  await fleet.stop()
})
