import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { Connection } from '../../src/client/connection.ts'
import { endpointBody, type SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import { SliceStore } from '../../src/endpoints/slice-store.ts'
import { after } from '../support/replicas.ts'
import { VirtualApi, type Wire } from '../support/virtual-api.ts'

let clock: VirtualClock

beforeEach(() => {
  clock = new VirtualClock()
})

const entry = (address: string): SliceEndpoint => ({
  address,
  ready: true,
  serving: true,
  terminating: false,
  nodeName: undefined,
  zone: undefined,
})

function apiWith(...slices: readonly (readonly string[])[]): VirtualApi {
  const api = new VirtualApi(clock)
  api.put('services', { metadata: { name: 'shop' }, spec: {} })
  for (const addresses of slices) put(api, addresses)
  return api
}

function put(api: VirtualApi, addresses: readonly string[]): void {
  const endpoints = addresses.map((address) => endpointBody(entry(address)))
  api.put('endpointslices', { metadata: { name: 'shop' }, addressType: 'IPv4', endpoints, ports: [] })
}

/** A store that watches its slice, and what it has seen, one state after the other. */
async function watching(first: VirtualApi) {
  const wire: Wire = { isCut: false, isPaused: false }
  const run = { api: first, wire }
  const seen: (readonly string[] | undefined)[] = []
  const sent: string[] = []
  const paths: string[] = []
  const connection: Connection = {
    send: (request) => {
      sent.push(`${request.target.verb} ${request.target.resource}`)
      paths.push(request.path)
      return run.api.connect('me', wire).send(request)
    },
    open: (request) => run.api.connect('me', wire).open(request),
    close: async () => {},
  }
  const store: SliceStore = new SliceStore({
    source: {
      name: 'shop',
      namespace: 'ops',
      service: 'shop',
      addressType: 'IPv4',
      ports: [{ name: 'http', port: 8080 }],
    },
    connection,
    clock,
    random: () => 0,
    onSeen: () => seen.push(store.slice?.entries.map(({ address }) => address)),
    onUp: () => {},
    onDown: () => {},
  })
  const watch = store.watch()
  onTestFinished(async () => {
    store.close()
    await after(clock, watch)
  })
  await clock.advance(100)
  return Object.assign(run, { store, seen, sent, paths })
}

describe('A slice', () => {
  test('that this replica has written is seen once: with the answer, and not again with its event', async () => {
    const { store, seen } = await watching(apiWith())
    await after(clock, store.write({ entries: [entry('10.0.0.1')], keepsPorts: false }), 2000)
    expect(seen).toEqual([undefined, ['10.0.0.1']])
  })

  test('is created for the Service as it is then, which no later write reads again', async () => {
    const { store, sent, paths } = await watching(apiWith())
    const writes = async (address: string) =>
      after(clock, store.write({ entries: [entry(address)], keepsPorts: false }), 2000)
    sent.length = 0
    paths.length = 0
    await writes('10.0.0.1')
    await writes('10.0.0.2')
    expect(sent).toEqual(['get services', 'create endpointslices', 'update endpointslices'])
    const slices = '/apis/discovery.k8s.io/v1/namespaces/ops/endpointslices'
    expect(paths).toEqual(['/api/v1/namespaces/ops/services/shop', slices, `${slices}/shop`])
  })

  test('that was read is not seen again as it was before, when its events come late', async () => {
    const { api, wire, store, seen } = await watching(apiWith(['10.0.0.1']))
    wire.silent = 'endpointslices'
    put(api, ['10.0.0.2'])
    put(api, ['10.0.0.3'])
    await after(clock, store.readAgain())
    wire.silent = undefined
    await clock.advance(2000)
    expect(seen).toEqual([['10.0.0.1'], ['10.0.0.3']])
    put(api, ['10.0.0.4'])
    await clock.advance(100)
    expect(seen.at(-1)).toEqual(['10.0.0.4'])
  })

  test('of a store that was restored from a backup is seen although it is older', async () => {
    const run = await watching(apiWith(['10.0.0.1'], ['10.0.0.2'], ['10.0.0.3']))
    const { api } = run
    run.api = apiWith(['10.0.0.1'])
    api.kill()
    await clock.advance(5000)
    expect(run.seen).toEqual([['10.0.0.3'], ['10.0.0.1']])
  })
})
