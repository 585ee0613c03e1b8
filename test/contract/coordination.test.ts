import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { type ApiAnswer, type ApiObject, type ContractClient, MERGE_PATCH } from './contract-client.ts'
import { lease, leasesPath, resourcePath } from './sample-objects.ts'

/*
 * Lease candidates, and the controller that elects among them. The controller of a real server answers within milliseconds or after 5 s,
 * so every case waits for an outcome and none for a time.
 */

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

const OLDEST = 'OldestEmulationVersion'

/** The time in the form of a MicroTime, shifted. */
const microTime = (shiftMs = 0): string => new Date(Date.now() + shiftMs).toISOString().replace(/(\.\d{3})Z$/, '$1000Z')

const candidatesPath = (name?: string, version = 'v1beta1'): string =>
  resourcePath(`/apis/coordination.k8s.io/${version}`, namespace, 'leasecandidates', name)

interface CandidateSpec {
  readonly [field: string]: unknown
}

const specOf = (fields: CandidateSpec): CandidateSpec => ({
  leaseName: 'unused',
  binaryVersion: '1.36.0',
  emulationVersion: '1.36.0',
  strategy: 'example.com/own',
  ...fields,
})

const post = (name: string, fields: CandidateSpec = {}): Promise<ApiAnswer> =>
  admin.post(candidatesPath(), { metadata: { name }, spec: specOf(fields) })

/** A candidate that takes part in an election of `leaseName`. */
const stand = (name: string, leaseName: string, fields: CandidateSpec = {}): Promise<ApiAnswer> =>
  post(name, { leaseName, strategy: OLDEST, renewTime: microTime(), ...fields })

const leaseSpec = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
  (await admin.get(leasesPath(namespace, name))).body.spec ?? {}

const untilLease = (
  name: string,
  fits: (spec: Readonly<Record<string, unknown>>) => boolean,
): Promise<Readonly<Record<string, unknown>>> => eventually(() => leaseSpec(name), fits)

const holds = (holder: string) => (spec: Readonly<Record<string, unknown>>) => spec['holderIdentity'] === holder

describe('a lease candidate', () => {
  it.each(['Upper_case', 'trailing-', '.dots.', 'a'.repeat(253)])('may be named %s', async (name) => {
    expect((await post(name)).status).toBe(201)
  })

  it.each(['a:b', '..', 'a'.repeat(254)])('may not be named %s', async (name) => {
    expect((await post(name)).status).toBe(422)
  })

  it.each([
    ['leaseName', '', 'spec.leaseName: Required value'],
    ['binaryVersion', '', 'spec.binaryVersion: Required value'],
    ['binaryVersion', 'v1.36.0', 'spec.binaryVersion: Invalid value: "v1.36.0"'],
    ['binaryVersion', '1.36', 'spec.binaryVersion: Invalid value: "1.36"'],
    ['binaryVersion', '1.036.0', 'spec.binaryVersion: Invalid value: "1.036.0"'],
    ['emulationVersion', '1.x.0', 'spec.emulationVersion: Invalid value: "1.x.0"'],
    ['emulationVersion', '1.37.0', 'spec.binaryVersion: Invalid value: "1.36.0"'],
    ['strategy', '', 'spec.strategy: Required value'],
    ['strategy', 'Foo', 'Unsupported value: "Foo"'],
  ])('with %s %j is refused', async (field, value, message) => {
    const { status, body } = await post('refused', { [field]: value })
    expect(status).toBe(422)
    expect(body.message).toContain(message)
  })

  it.each(['', '0.0.0'])('of the built-in strategy needs an emulation version, not %j', async (emulationVersion) => {
    const { status, body } = await post('refused', { strategy: OLDEST, emulationVersion })
    expect(status).toBe(422)
    expect(body.message).toContain('spec.emulationVersion: Required value')
  })

  it('orders a pre-release below its release and ignores builds', async () => {
    expect((await post('pre', { binaryVersion: '1.36.0-alpha.1' })).status).toBe(422)
    const builds = { binaryVersion: '1.36.0-alpha.1+abc', emulationVersion: '1.36.0-alpha.1+xyz' }
    expect((await post('pre', builds)).status).toBe(201)
  })

  it.each(['2026-01-01T00:00:00Z', '2026-01-01T00:00:00.123Z', '2026-01-01T00:00:00.123456789Z'])(
    'refuses the time %s, which has not six digits after the point',
    async (renewTime) => {
      expect((await post('time', { renewTime })).status).toBe(400)
    },
  )

  it('stores times in UTC', async () => {
    const { status, body } = await post('zone', { renewTime: '2026-01-01T02:00:00.123456+02:00' })
    expect(status).toBe(201)
    expect(body.spec).toMatchObject({ renewTime: '2026-01-01T00:00:00.123456Z' })
  })

  it('keeps its lease and may change its versions', async () => {
    await post('kept')
    const patch = (spec: CandidateSpec): Promise<ApiAnswer> =>
      admin.patch(candidatesPath('kept'), MERGE_PATCH, { spec })
    const { status, body } = await patch({ leaseName: 'other' })
    expect(status).toBe(422)
    expect(body.message).toContain('field is immutable')
    expect((await patch({ binaryVersion: '1.37.0' })).body.spec).toMatchObject({ binaryVersion: '1.37.0' })
  })

  it('is written by PUT only at a version, or where it does not exist', async () => {
    await post('put')
    const put = (name: string): Promise<ApiAnswer> =>
      admin.put(candidatesPath(name), { metadata: { name }, spec: specOf({}) })
    expect((await put('put')).status).toBe(422)
    expect((await put('put-new')).status).toBe(201)
  })

  it('cannot be selected by its lease', async () => {
    expect((await admin.get(`${candidatesPath()}?fieldSelector=spec.leaseName%3Dunused`)).status).toBe(400)
  })

  it('is the same object in both versions', async () => {
    await post('both')
    const { body } = await admin.get(candidatesPath('both', 'v1alpha2'))
    expect(body).toMatchObject({ apiVersion: 'coordination.k8s.io/v1alpha2', spec: specOf({}) })
  })
})

describe('a lease', () => {
  it('needs a strategy for a preferred holder', async () => {
    const { status, body } = await admin.post(leasesPath(namespace), lease('preferred', { preferredHolder: 'x' }))
    expect(status).toBe(422)
    expect(body.message).toContain('spec.preferredHolder: Forbidden')
  })

  it.each(['Foo', ''])('refuses the strategy %j', async (strategy) => {
    expect((await admin.post(leasesPath(namespace), lease('strategy', { strategy }))).status).toBe(422)
  })

  it('keeps its strategy in a dry run, which shows that the feature is on', async () => {
    const { body } = await admin.post(`${leasesPath(namespace)}?dryRun=All`, lease('probe', { strategy: OLDEST }))
    expect(body.spec).toMatchObject({ strategy: OLDEST })
    expect((await admin.get(leasesPath(namespace, 'probe'))).status).toBe(404)
  })
})

describe('the election controller', () => {
  it('names the only candidate, without a ping', async () => {
    await stand('only', 'one')
    const spec = await untilLease('one', holds('only'))
    expect(spec).toEqual({
      holderIdentity: 'only',
      leaseDurationSeconds: 5,
      renewTime: expect.any(String) as string,
      strategy: OLDEST,
    })
    expect((await admin.get(candidatesPath('only'))).body.spec).not.toHaveProperty('pingTime')
  })

  it('pings a candidate that has not renewed for long, and names it once it has answered', async () => {
    await stand('stale', 'two', { renewTime: microTime(-60_000) })
    const { spec } = await eventually(
      async () => (await admin.get(candidatesPath('stale'))).body,
      (candidate) => candidate.spec?.['pingTime'] !== undefined,
    )
    expect((await admin.get(leasesPath(namespace, 'two'))).status).toBe(404)
    await admin.patch(candidatesPath('stale'), MERGE_PATCH, { spec: { renewTime: spec?.['pingTime'] } })
    expect(await untilLease('two', holds('stale'))).toMatchObject({ holderIdentity: 'stale' })
  })

  it('prefers the oldest emulation version, and leaves a valid lease to its holder', async () => {
    await stand('new', 'three', { emulationVersion: '1.36.0' })
    await untilLease('three', holds('new'))
    await acquire('three', 'new')
    await stand('old', 'three', { emulationVersion: '1.35.0' })
    const spec = await untilLease('three', ({ preferredHolder }) => preferredHolder === 'old')
    expect(spec).toMatchObject({ holderIdentity: 'new', preferredHolder: 'old', leaseDurationSeconds: 60 })
  })

  it('names the next candidate when the holder is gone, and clears what it preferred', async () => {
    await stand('first', 'four', { emulationVersion: '1.36.0' })
    await untilLease('four', holds('first'))
    await acquire('four', 'first')
    await stand('second', 'four', { emulationVersion: '1.35.0' })
    await untilLease('four', ({ preferredHolder }) => preferredHolder === 'second')
    await admin.delete(candidatesPath('first'))
    await admin.patch(leasesPath(namespace, 'four'), MERGE_PATCH, { spec: { holderIdentity: '' } })
    const spec = await untilLease('four', holds('second'))
    expect(spec).toMatchObject({ leaseDurationSeconds: 5, leaseTransitions: 7 })
    expect(spec).not.toHaveProperty('preferredHolder')
    expect(spec).not.toHaveProperty('acquireTime')
  })

  it('makes a lease without a holder for a strategy that it does not know', async () => {
    await stand('own', 'five', { strategy: 'example.com/own' })
    const spec = await untilLease('five', ({ strategy }) => strategy !== undefined)
    expect(spec).toMatchObject({ strategy: 'example.com/own', leaseDurationSeconds: 5 })
    expect(spec).not.toHaveProperty('holderIdentity')
  })

  it('takes no notice of a candidate without a renew time', async () => {
    await stand('silent', 'six', { renewTime: undefined, emulationVersion: '1.30.0' })
    await stand('heard', 'six')
    expect(await untilLease('six', holds('heard'))).toMatchObject({ holderIdentity: 'heard' })
  })
})

/** What a named candidate does: it takes the lease for a minute. */
async function acquire(name: string, holderIdentity: string): Promise<void> {
  const spec = { holderIdentity, leaseDurationSeconds: 60, renewTime: microTime(), acquireTime: microTime() }
  const answered: ApiObject = (
    await admin.patch(leasesPath(namespace, name), MERGE_PATCH, { spec: { ...spec, leaseTransitions: 7 } })
  ).body
  expect(answered.spec).toMatchObject({ holderIdentity, leaseDurationSeconds: 60 })
}
