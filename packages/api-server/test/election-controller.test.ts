import { VirtualClock } from '@tenure/testing/virtual-clock'
import { formatMicroTime } from '@tenure/core/internal'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { startApiServer, type ApiServer, type ApiServerOptions } from '../src/index.ts'
import { asJsonObject, type JsonObject } from '../src/objects/json-value.ts'
import { TestClient } from './test-client.ts'

const MINUTE_MS = 60_000
const ON: ApiServerOptions = {
  featureGates: { CoordinatedLeaderElection: true },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
}
const LEASES = { collection: 'coordination.k8s.io/leases', namespace: 'default' }
const CANDIDATES = { collection: 'coordination.k8s.io/leasecandidates', namespace: 'default' }

let clock: VirtualClock
let server: ApiServer
let picks: number

async function start(options: ApiServerOptions = ON): Promise<void> {
  server = await startApiServer({ clock, random: () => picks, ...options })
}

beforeEach(() => {
  clock = new VirtualClock()
  picks = 0
})

afterEach(() => server.stop())

const at = (shiftMs = 0): string => formatMicroTime(clock.wallTime() + shiftMs)

function stand(name: string, spec: JsonObject = {}): void {
  const creationTimestamp = `${at().slice(0, 19)}Z`
  server.store.create(
    { ...CANDIDATES, name },
    {
      apiVersion: 'coordination.k8s.io/v1beta1',
      kind: 'LeaseCandidate',
      metadata: { name, namespace: 'default', creationTimestamp, uid: name },
      spec: {
        leaseName: 'job',
        binaryVersion: '1.36.0',
        emulationVersion: '1.36.0',
        strategy: 'OldestEmulationVersion',
        renewTime: at(),
        ...spec,
      },
    },
  )
}

function change(
  ref: { readonly collection: string; readonly namespace: string },
  name: string,
  spec: JsonObject,
): void {
  const stored = server.store.get({ ...ref, name })
  if (stored === undefined) throw new Error(`no ${name}`)
  server.store.update({ ...ref, name }, { ...stored, spec: { ...asJsonObject(stored['spec']), ...spec } })
}

const leaseSpec = (): JsonObject => asJsonObject(server.store.get({ ...LEASES, name: 'job' })?.['spec'])
const candidateSpec = (name: string): JsonObject => asJsonObject(server.store.get({ ...CANDIDATES, name })?.['spec'])
const hold = (holderIdentity: string): void =>
  change(LEASES, 'job', { holderIdentity, leaseDurationSeconds: 3600, renewTime: at() })

describe('the election controller', () => {
  it('waits 5 s for an answer to a ping, then elects among those that answered', async () => {
    await start()
    stand('dead', { emulationVersion: '1.30.0', renewTime: at(-MINUTE_MS) })
    stand('alive', { renewTime: at(-MINUTE_MS) })
    await clock.advance(1)
    expect(candidateSpec('dead')).toHaveProperty('pingTime')
    const { pingTime = '' } = candidateSpec('alive')
    change(CANDIDATES, 'alive', { renewTime: pingTime })
    await clock.advance(4900)
    expect(leaseSpec()).toEqual({})
    await clock.advance(5200)
    expect(leaseSpec()).toEqual({})
    change(CANDIDATES, 'alive', { renewTime: at() })
    await clock.advance(1)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'alive' })
  })

  it('does not count an answer that is older than the ping', async () => {
    await start()
    stand('slow', { renewTime: at(-MINUTE_MS) })
    await clock.advance(1)
    change(CANDIDATES, 'slow', { renewTime: at(-2) })
    await clock.advance(16_000)
    expect(leaseSpec()).toEqual({})
  })

  it('names nobody while the holder that it named may still acquire, and another one after 5 s', async () => {
    await start()
    stand('first')
    await clock.advance(1)
    change(CANDIDATES, 'first', { renewTime: at(-29 * MINUTE_MS) })
    server.store.delete({ ...CANDIDATES, name: 'first' })
    stand('second')
    await clock.advance(4000)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'first' })
    await clock.advance(1500)
    change(CANDIDATES, 'second', { renewTime: at() })
    await clock.advance(1)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'second' })
  })

  it('changes its mind about candidates that are equal, as kube-apiserver does', async () => {
    await start()
    for (const name of ['a', 'b', 'c']) stand(name)
    await clock.advance(1)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'a' })
    hold('a')
    picks = 0.9
    await clock.advance(1)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'a', preferredHolder: 'c' })
  })

  it('keeps the first of candidates that were created in different seconds', async () => {
    await start()
    for (const name of ['c', 'b', 'a']) {
      stand(name)
      await clock.advance(1000)
    }
    hold('c')
    picks = 0.9
    await clock.advance(60)
    expect(leaseSpec()).not.toHaveProperty('preferredHolder')
  })

  it('elects nobody while candidates of the highest version disagree about the strategy', async () => {
    await start()
    stand('a')
    stand('b', { strategy: 'example.com/own' })
    await clock.advance(20_000)
    expect(leaseSpec()).toEqual({})
  })

  it('pings everybody when a candidate has not renewed for 15 minutes, although the leader is the best', async () => {
    await start()
    stand('best', { emulationVersion: '1.30.0' })
    await clock.advance(1)
    hold('best')
    stand('other', { renewTime: at(-16 * MINUTE_MS) })
    await clock.advance(1)
    expect(candidateSpec('other')).toHaveProperty('pingTime')
  })

  it('takes a lease without the field holderIdentity for free', async () => {
    await start()
    stand('own', { strategy: 'example.com/own' })
    await clock.advance(1)
    expect(leaseSpec()).not.toHaveProperty('holderIdentity')
    server.store.delete({ ...CANDIDATES, name: 'own' })
    stand('a')
    await clock.advance(1)
    expect(leaseSpec()).toMatchObject({ holderIdentity: 'a', strategy: 'OldestEmulationVersion' })
  })

  it('deletes candidates that are dead for 30 minutes, at its start and every 30 minutes', async () => {
    await start()
    stand('silent', { renewTime: null })
    stand('old', { renewTime: at(-25 * MINUTE_MS) })
    stand('alive')
    const names = (): string[] => server.store.list(CANDIDATES.collection).map(({ metadata }) => metadata.name ?? '')
    await clock.advance(29 * MINUTE_MS)
    expect(names()).toEqual(['alive', 'old', 'silent'])
    change(CANDIDATES, 'alive', { renewTime: at() })
    await clock.advance(MINUTE_MS)
    expect(names()).toEqual(['alive'])
  })

  it('does nothing any more after the server has stopped', async () => {
    await start()
    await server.stop()
    stand('late')
    await clock.advance(MINUTE_MS)
    expect(leaseSpec()).toEqual({})
  })
})

describe('the state of the server', () => {
  const lease = { metadata: { name: 'x' }, spec: { strategy: 'Foo', preferredHolder: 'y', holderIdentity: 'z' } }
  const path = '/apis/coordination.k8s.io/v1/namespaces/default/leases'

  it('is off by default: no lease candidates, and the fields of leases are dropped, also invalid ones', async () => {
    await start({})
    using client = new TestClient(server)
    expect((await client.open('GET', '/apis/coordination.k8s.io/v1beta1')).statusCode).toBe(404)
    const { status, body } = await client.send('POST', path, lease)
    expect(status).toBe(201)
    expect(body['spec']).toEqual({ holderIdentity: 'z' })
  })

  it('with the runtime config alone stores candidates, and nobody elects', async () => {
    await start({ runtimeConfig: { 'coordination.k8s.io/v1beta1': true } })
    using client = new TestClient(server)
    expect((await client.send('GET', '/apis/coordination.k8s.io/v1beta1')).status).toBe(200)
    stand('a')
    await clock.advance(MINUTE_MS)
    expect(leaseSpec()).toEqual({})
  })

  it('with the gate alone is never ready', async () => {
    await start({ featureGates: { CoordinatedLeaderElection: true } })
    using client = new TestClient(server)
    const ready = await client.open('GET', '/readyz')
    expect(ready.statusCode).toBe(500)
    expect(String((await ready.toArray())[0])).toContain('informer-sync')
    expect((await client.open('GET', '/livez')).statusCode).toBe(200)
  })

  it('keeps the fields of a lease that has them after the gate was turned off', async () => {
    await start({})
    using client = new TestClient(server)
    const spec = { holderIdentity: 'a', strategy: 'OldestEmulationVersion' }
    const metadata = { name: 'job', namespace: 'default', uid: 'u' }
    server.store.create(
      { ...LEASES, name: 'job' },
      { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec },
    )
    const stored = (await client.send('GET', `${path}/job`)).body
    const next = { ...stored, spec: { ...spec, preferredHolder: 'b' } }
    const { body } = await client.send('PUT', `${path}/job`, next)
    expect(body['spec']).toEqual(spec)
  })

  it.each([
    [{ featureGates: { CoordinatedElection: true } }, 'CoordinatedElection'],
    [
      { featureGates: { CoordinatedLeaderElection: 'true' } },
      "Expected `featureGates['CoordinatedLeaderElection']` to be true or false, got `true` (string)",
    ],
    [{ runtimeConfig: { 'coordination.k8s.io/v1': true } }, 'coordination.k8s.io/v1'],
    [{ runtimeConfig: 'all' }, 'runtimeConfig'],
  ])('refuses %j', async (options, message) => {
    await start({})
    await expect(startApiServer(options as never)).rejects.toThrow(message)
  })
})
