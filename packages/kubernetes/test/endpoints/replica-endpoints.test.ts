import {
  type Candidacy,
  type CandidacyEvent,
  type Controller,
  type ControllerFactory,
  OptionsError,
} from '@tenure/core'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { EndpointsOptions } from '../../src/endpoints/endpoints-options.ts'
import { after, endpointsOf, memberOf, STOPPED } from '../support/replicas.ts'
import { VirtualApi, type Wire } from '../support/virtual-api.ts'

let clock: VirtualClock
let api: VirtualApi

beforeEach(() => {
  clock = new VirtualClock()
  api = new VirtualApi(clock)
  api.put('services', { metadata: { name: 'shop' }, spec: {} })
})

const entries = () => {
  const slice = api.get('endpointslices', 'shop') as unknown as
    | { readonly endpoints: readonly { readonly addresses: readonly string[]; readonly conditions: object }[] }
    | undefined
  return slice?.endpoints.map((one) => [one.addresses[0], one.conditions] as const)
}

const READY = { ready: true, serving: true, terminating: false }
const UNREADY = { ready: false, serving: false, terminating: false }
const DRAINING = { ready: false, serving: true, terminating: true }

/** The writes from now on, in short. */
function writes(): () => readonly string[] {
  const before = api.writes.length
  return () => api.writes.slice(before).map(({ what }) => what.split('.')[0] ?? '')
}

function replica(number: number, options: Partial<EndpointsOptions> = {}) {
  const wire: Wire = { isCut: false, isPaused: false }
  const one = endpointsOf({ api, clock, identity: `shop-${number}`, wire }, { address: `10.0.0.${number}`, ...options })
  return {
    ...one,
    wire,
    start: () => after(clock, one.endpoints.start(one.host)),
    stop: (ms?: number) => after(clock, one.endpoints.stop(), ms),
  }
}

async function started(number: number, options: Partial<EndpointsOptions> = {}) {
  const one = replica(number, options)
  await one.start()
  return one
}

describe('the endpoints of a replica', () => {
  test('have a name and a group among the extensions, and a check of readiness while they run', async () => {
    const one = replica(1, { slice: 'shop-v4' })
    expect([one.endpoints.name, one.endpoints.group, one.endpoints.mode]).toEqual([
      'endpoints shop-v4',
      'caches',
      'lease',
    ])
    expect(one.host.readyz.names).toEqual([])
    await one.start()
    expect(one.host.readyz.names).toEqual(['membership-shop-v4', 'endpoints-shop-v4'])
    expect((await one.host.readyz.run()).map(({ failure }) => failure)).toEqual([undefined, undefined])
    await one.stop()
    expect(one.host.readyz.names).toEqual([])
  })

  test('do nothing when they are stopped before the start, or a second time', async () => {
    const one = replica(1)
    one.endpoints.onEvent(STOPPED)
    await one.stop()
    await one.start()
    expect(entries()).toEqual([['10.0.0.1', READY]])
    await one.stop()
    const written = writes()
    await one.stop()
    expect(written()).toEqual([])
    expect(clock.pendingTimers).toBe(0)
  })

  test('leave with one write of the slice, and the Lease goes after it', async () => {
    const one = await started(1)
    const written = writes()
    await one.stop()
    expect(written()).toEqual(['update endpointslices', 'delete leases'])
  })

  test('write nothing when they leave without having entered', async () => {
    const one = await started(1, { isReady: () => false })
    const written = writes()
    await one.stop()
    expect(written()).toEqual(['delete leases'])
  })

  test('do not wait for a server that is away if they have not entered', async () => {
    const group = memberOf({ api, clock, identity: 'shop-1' })
    const one = await started(1, { membership: group.member, isReady: () => false })
    api.isStalled = true
    await one.stop(100)
    api.isStalled = false
    expect(clock.pendingTimers).toBe(0)
  })

  test('are out of the slice after a stop, though they have not seen themselves in it', async () => {
    const one = replica(1)
    one.wire.silent = 'endpointslices'
    api.forbids = ({ verb, resource }) => {
      if (verb === 'create' && resource === 'endpointslices') api.isStalled = true
      return false
    }
    await one.start()
    expect([entries(), one.endpoints.isListed]).toEqual([[['10.0.0.1', READY]], false])
    const stopping = one.endpoints.stop()
    api.isStalled = false
    await after(clock, stopping)
    expect(entries()).toEqual([])
  })

  test('enter as ready when there is room for them: what keeps them out is not their own failure', async () => {
    const [one, two] = [
      await started(1, { mode: 'master-count', count: 1 }),
      await started(2, { mode: 'master-count', count: 1 }),
    ]
    const failed = async () => (await two.host.readyz.run()).filter(({ failure }) => failure !== undefined)
    expect((await failed()).map(({ name }) => name)).toEqual(['endpoints-shop'])
    await clock.advance(30_000)
    expect(two.endpoints.membership?.self?.notes['endpoint shop']).toContain('"ready":true')
    await one.stop()
    expect(entries()).toEqual([['10.0.0.2', READY]])
    expect(await failed()).toEqual([])
    await two.stop()
  })

  test('do not wait for the slice for longer than 1.5 s when they leave', async () => {
    const one = await started(1)
    api.isStalled = true
    let isStopped = false
    const stopping = one.endpoints.stop().then(() => (isStopped = true))
    await clock.advance(1490)
    expect(isStopped).toBe(false)
    await clock.advance(2100)
    await stopping
    api.isStalled = false
  })

  test('tell the others before they enter, and afterwards when they become unready', async () => {
    let isReady = true
    const written = writes()
    const one = await started(1, { isReady: () => isReady })
    expect(written()).toEqual(['create leases', 'update leases', 'create endpointslices'])
    api.forbids = ({ verb, resource }) => verb === 'update' && resource === 'leases'
    isReady = false
    await clock.advance(16_000)
    expect(entries()).toEqual([['10.0.0.1', UNREADY]])
    api.forbids = () => false
    await one.stop()
  })

  test('are counted and measured', async () => {
    const [one, two] = [await started(1), await started(2)]
    const labels = { service: 'shop', slice: 'shop' }
    const descriptions = [
      {
        name: 'tenure_endpoints',
        help: 'Entries in the EndpointSlice as this replica sees it.',
        type: 'gauge',
        labelNames: ['service', 'slice'],
      },
      {
        name: 'tenure_endpoints_listed',
        help: 'Whether this replica is in the EndpointSlice, ready or not.',
        type: 'gauge',
        labelNames: ['service', 'slice'],
      },
      {
        name: 'tenure_endpoints_writes_total',
        help: 'Writes of the EndpointSlice by this replica, by outcome.',
        type: 'counter',
        labelNames: ['service', 'slice', 'outcome'],
      },
    ]
    const { metrics, membership } = two.endpoints
    const ofGroup = membership?.metrics
    expect(metrics.getMetricsAsArray()).toEqual([...descriptions, ...(ofGroup?.getMetricsAsArray() ?? [])])
    const outcomes = [
      { labels: { ...labels, outcome: 'ok' }, value: 1 },
      { labels: { ...labels, outcome: 'conflict' }, value: 0 },
      { labels: { ...labels, outcome: 'failed' }, value: 0 },
    ]
    const values = [[{ labels, value: 2 }], [{ labels, value: 1 }], outcomes]
    expect(await metrics.getMetricsAsJSON()).toEqual([
      ...descriptions.map(({ name, help, type }, index) => ({
        name,
        help,
        type,
        aggregator: 'sum',
        values: values[index],
      })),
      ...((await ofGroup?.getMetricsAsJSON()) ?? []),
    ])
    await two.stop()
    const listed = (await metrics.getMetricsAsJSON())[1] as { readonly values: readonly object[] }
    expect(listed.values).toEqual([{ labels, value: 0 }])
    await one.stop()
  })

  test('of the mode none, and those of a group that the program has, measure no group', async () => {
    const none = replica(1, { mode: 'none', address: undefined, ports: undefined } as never)
    const values = ((await none.endpoints.metrics.getMetricsAsJSON()) as { values: object[] }[]).map(
      (metric) => metric.values,
    )
    const labels = { service: 'shop', slice: 'shop' }
    expect(values).toEqual([[{ labels, value: 0 }], [{ labels, value: 0 }], []])
    expect([none.endpoints.addresses, none.endpoints.isListed]).toEqual([[], false])
    const group = memberOf({ api, clock, identity: 'shop-1' })
    const one = replica(1, { membership: group.member })
    expect(one.endpoints.membership).toBe(group.member)
    expect(one.endpoints.metrics.getMetricsAsArray()).toHaveLength(3)
  })
})

/** The leader stops. */
const ENDING = { lease: 'shop', kind: 'term-ending', epoch: 1n, reason: 'shutdown' } as CandidacyEvent

describe('a manager that stops', () => {
  test('lets its follower drain if the stop takes longer than 5 ms', async () => {
    const one = await started(1)
    one.endpoints.onEvent({ ...STOPPED, to: { kind: 'following', observedLeader: undefined } } as CandidacyEvent)
    await clock.advance(100)
    expect(entries()).toEqual([['10.0.0.1', READY]])
    one.endpoints.onEvent(STOPPED)
    one.endpoints.onEvent(STOPPED)
    const written = writes()
    await clock.advance(4)
    expect(written()).toEqual([])
    await clock.advance(1)
    expect(one.endpoints.membership?.self?.notes['endpoint shop']).toContain('"terminating":true')
    await clock.advance(20)
    expect(entries()).toEqual([['10.0.0.1', DRAINING]])
    await one.stop()
    expect(clock.pendingTimers).toBe(0)
  })

  test('leaves no timer behind if the stop is quick', async () => {
    const one = await started(1)
    one.endpoints.onEvent(STOPPED)
    const written = writes()
    await one.stop()
    expect(written()).toEqual(['update endpointslices', 'delete leases'])
    expect(clock.pendingTimers).toBe(0)
  })

  test('does not become ready again while it drains, and has no entry if it had none', async () => {
    let isReady = true
    const one = await started(1, { isReady: () => isReady })
    one.endpoints.onEvent(ENDING)
    isReady = false
    await clock.advance(16_000)
    isReady = true
    await clock.advance(6000)
    expect(entries()).toEqual([['10.0.0.1', DRAINING]])
    await one.stop()
    isReady = false
    const other = await started(2, { isReady: () => isReady })
    other.endpoints.onEvent(ENDING)
    isReady = true
    await clock.advance(6000)
    expect(entries()).toEqual([])
    await other.stop()
  })
})

describe('the leader', () => {
  /** A candidacy that begins and ends terms by hand. */
  function candidate(options: Partial<EndpointsOptions> = {}, leases: readonly string[] = ['shop']) {
    const factories = new Map<string, ControllerFactory>()
    const candidacies = leases.map((lease) => ({
      lease,
      register: (factory: ControllerFactory) => void factories.set(lease, factory),
    }))
    const one = replica(1, { mode: 'leader', ...options })
    const host = { ...one.host, candidacies: candidacies as unknown as readonly Candidacy[] }
    const lead = (lease = leases[0] ?? '') => {
      const [ending, aborting] = [new AbortController(), new AbortController()]
      const controller = factories.get(lease)?.() as Controller
      const term = { lease, controller: controller.name, signal: ending.signal, hardSignal: aborting.signal }
      const run = controller.run(term as unknown as Parameters<Controller['run']>[0])
      return { run, endTerm: () => ending.abort() }
    }
    const onTerm = (lease: string, controller: string) => one.endpoints.onTerm({ lease, controller } as never)
    return { ...one, factories, lead, onTerm, start: () => after(clock, one.endpoints.start(host)) }
  }

  test('needs no group', () => {
    const { member } = memberOf({ api, clock, identity: 'a' })
    expect(replica(1, { mode: 'leader', membership: member }).endpoints.membership).toBeUndefined()
  })

  test('belongs to the first lease of the manager, unless `lease` names another', async () => {
    const first = candidate({}, ['shop', 'sweep'])
    await first.start()
    expect([...first.factories.keys()]).toEqual(['shop'])
    await first.stop()
    const named = candidate({ lease: 'sweep' }, ['shop', 'sweep'])
    await named.start()
    expect([...named.factories.keys()]).toEqual(['sweep'])
    expect(named.factories.get('sweep')?.()).toMatchObject({ name: 'endpoints-shop' })
    await named.stop()
  })

  test('has no group: it writes the slice and no Lease', async () => {
    const written = writes()
    const one = candidate()
    await one.start()
    expect(one.endpoints.membership).toBeUndefined()
    const term = one.lead()
    await clock.advance(5000)
    // That of the watch: nothing is in doubt.
    expect(clock.pendingTimers).toBe(1)
    term.endTerm()
    await after(clock, term.run, 20)
    await one.stop()
    expect(written()).toEqual(['create endpointslices', 'update endpointslices'])
  })

  test('is refused for a lease that the manager does not have', async () => {
    const one = candidate({ lease: 'other' })
    await expect(one.start()).rejects.toThrow(
      OptionsError.expected('`lease` of `endpoints()` to be a lease of the manager', 'other'),
    )
    expect(clock.pendingTimers).toBe(0)
  })

  test('enters when it is ready, and not any more if its term has ended before', async () => {
    let isReady = false
    const one = candidate({ isReady: () => isReady, nodeName: 'node-1', zone: 'eu-1a' })
    await one.start()
    const first = one.lead()
    await clock.advance(1000)
    expect(entries()).toBeUndefined()
    isReady = true
    await clock.advance(120)
    expect(entries()).toEqual([['10.0.0.1', READY]])
    expect(api.get('endpointslices', 'shop')).toMatchObject({ endpoints: [{ nodeName: 'node-1', zone: 'eu-1a' }] })
    first.endTerm()
    await after(clock, first.run, 20)
    expect(entries()).toEqual([])
    isReady = false
    const written = writes()
    const second = one.lead()
    await clock.advance(250)
    second.endTerm()
    await after(clock, second.run, 20)
    expect(written()).toEqual([])
    await one.stop()
    expect(clock.pendingTimers).toBe(0)
  })

  test('stays while another controller of its term runs, but for no other lease and not for itself', async () => {
    const one = candidate()
    await one.start()
    const term = one.lead()
    await clock.advance(20)
    one.onTerm('sweep', 'janitor')
    one.onTerm('shop', 'endpoints-shop')
    const otherDone = one.onTerm('shop', 'janitor')
    term.endTerm()
    await clock.advance(19)
    expect(entries()).toEqual([['10.0.0.1', READY]])
    await clock.advance(20)
    expect(entries()).toEqual([['10.0.0.1', DRAINING]])
    otherDone()
    await after(clock, term.run, 20)
    expect(entries()).toEqual([])
    await one.stop()
  })

  test('does not hear of the terms and events of the other modes', async () => {
    const one = candidate()
    await one.start()
    const term = one.lead()
    await clock.advance(20)
    one.endpoints.onEvent(STOPPED)
    await clock.advance(100)
    expect(entries()).toEqual([['10.0.0.1', READY]])
    term.endTerm()
    await after(clock, term.run, 20)
    await one.stop()
    const two = await started(2)
    expect(two.endpoints.onTerm({ lease: 'shop', controller: 'janitor' } as never)()).toBeUndefined()
    await two.stop()
  })
})

test('in a group that the program has, an earlier process with the same address is buried, and the note goes at the end', async () => {
  const old = await started(1)
  old.wire.isCut = true
  const group = memberOf({ api, clock, identity: 'shop-1-again' })
  await after(clock, group.member.start(group.host))
  expect(group.member.members.map(({ identity }) => identity)).toEqual(['shop-1', 'shop-1-again'])
  const again = await started(1, { membership: group.member })
  expect(group.member.members.map(({ identity }) => identity)).toEqual(['shop-1-again'])
  const written = writes()
  await again.stop()
  expect(written()).toEqual(['update endpointslices', 'update leases'])
  await after(clock, group.member.stop())
})

describe('a note that is written late', () => {
  /** Endpoints in a group whose notes are written when the test says so. */
  async function noting() {
    const group = memberOf({ api, clock, identity: 'shop-1' })
    await after(clock, group.member.start(group.host))
    const notes: PromiseWithResolvers<void>[] = []
    const noted = vi.spyOn(group.member, 'note').mockImplementation(() => {
      const note = Promise.withResolvers<void>()
      notes.push(note)
      return note.promise
    })
    const state = { isReady: true }
    const one = await started(1, { membership: group.member, isReady: () => state.isReady })
    /** Lets the readiness change, and returns the note that says so. */
    const become = async (isReady: boolean): Promise<PromiseWithResolvers<void>> => {
      state.isReady = isReady
      await clock.advance(16_000)
      return notes.at(-1) ?? expect.fail('no note')
    }
    const enter = async (): Promise<void> => {
      notes[0]?.resolve()
      await clock.advance(20)
      expect(entries()).toEqual([['10.0.0.1', READY]])
    }
    return { one, noted, notes, become, enter, stopGroup: () => after(clock, group.member.stop()) }
  }

  test('is taken back if the replica stops before it has entered', async () => {
    const { one, noted, notes, stopGroup } = await noting()
    expect(noted).toHaveBeenCalledExactlyOnceWith('endpoint shop', expect.stringContaining('10.0.0.1'))
    const stopping = one.stop()
    expect(noted).toHaveBeenLastCalledWith('endpoint shop', undefined)
    notes[0]?.resolve()
    await stopping
    expect(entries()).toBeUndefined()
    await stopGroup()
  })

  test('changes nothing any more if the replica is not ready again', async () => {
    const { one, become, enter, stopGroup } = await noting()
    await enter()
    await become(false)
    expect(entries()).toEqual([['10.0.0.1', UNREADY]])
    const ready = await become(true)
    expect(entries()).toEqual([['10.0.0.1', UNREADY]])
    await become(false)
    ready.resolve()
    await clock.advance(100)
    expect(entries()).toEqual([['10.0.0.1', UNREADY]])
    await one.stop()
    await stopGroup()
  })

  test('holds back the first entry, though the replica is not ready any more', async () => {
    const { one, become, stopGroup } = await noting()
    const unready = await become(false)
    expect(entries()).toBeUndefined()
    unready.resolve()
    await clock.advance(100)
    expect(entries()).toEqual([['10.0.0.1', UNREADY]])
    await one.stop()
    await stopGroup()
  })

  test('lets no replica enter that drains by then', async () => {
    const { one, notes, stopGroup } = await noting()
    one.endpoints.onEvent(ENDING)
    notes[0]?.resolve()
    await clock.advance(100)
    expect(entries()).toBeUndefined()
    await one.stop()
    await stopGroup()
  })

  test('says once that the replica drains, whatever happens after that', async () => {
    const { one, become, enter, noted, stopGroup } = await noting()
    await enter()
    noted.mockClear()
    one.endpoints.onEvent(ENDING)
    one.endpoints.onEvent(ENDING)
    await become(false)
    await become(true)
    expect(noted).toHaveBeenCalledExactlyOnceWith('endpoint shop', expect.stringContaining('"terminating":true'))
    await one.stop()
    await stopGroup()
  })

  test('is the last one when the replica has left', async () => {
    const { one, enter, noted, stopGroup } = await noting()
    await enter()
    const stopping = one.stop()
    one.endpoints.onEvent(ENDING)
    await stopping
    expect(noted).toHaveBeenLastCalledWith('endpoint shop', undefined)
    expect(entries()).toEqual([])
    await stopGroup()
  })

  test('brings no replica back that has stopped', async () => {
    const { one, become, enter, stopGroup } = await noting()
    await enter()
    await become(false)
    const ready = await become(true)
    const stopping = one.stop()
    ready.resolve()
    await stopping
    expect(entries()).toEqual([])
    await stopGroup()
  })
})
