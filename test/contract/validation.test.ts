import { wantedVersions } from '@tenure/test-control-plane'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import type { ContractClient } from './contract-client.ts'
import { configMap, configMapsPath, lease, leasesPath } from './sample-objects.ts'

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
  "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
  String.raw`'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`

const LABEL_KEY =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
  "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"

/** Sends a lease that must be refused with 400 and this reason. */
async function expectUndecodable(spec: Readonly<Record<string, unknown>>, why: string): Promise<void> {
  const { status, body } = await admin.post(leasesPath(namespace), lease('undecodable', spec))
  expect(status).toBe(400)
  expect(body).toEqual({
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message: `Lease in version "v1" cannot be handled as a Lease: ${why}`,
    reason: 'BadRequest',
    code: 400,
  })
}

/** Sends an object that must be refused with 422 and exactly these causes. */
async function expectInvalid(
  metadata: Readonly<Record<string, unknown>>,
  spec: Readonly<Record<string, unknown>>,
  causes: readonly { field: string; message: string; reason: string }[],
): Promise<void> {
  const { status, body } = await admin.post(leasesPath(namespace), { metadata: { name: 'invalid', ...metadata }, spec })
  expect(status).toBe(422)
  expect(body).toMatchObject({ reason: 'Invalid', details: { group: 'coordination.k8s.io', kind: 'Lease', causes } })
  const told = causes.map(({ field, message }) => `${field}: ${message}`)
  expect(body.message).toMatch(/^Lease\.coordination\.k8s\.io "[^"]*" is invalid: /)
  expect(body.message).toContain(told.length === 1 ? told[0] : `[${told.join(', ')}]`)
}

describe('the times of a lease', () => {
  const layout = '2006-01-02T15:04:05.000000Z07:00'

  it.each(['2020-01-01T00:00:00.000000Z', '2020-01-01T00:00:00.123456Z'])('may be %s', async (renewTime) => {
    const { body } = await admin.post(`${leasesPath(namespace)}?dryRun=All`, lease('timely', { renewTime }))
    expect(body.spec).toEqual({ renewTime })
  })

  it('are kept in UTC', async () => {
    const spec = { acquireTime: '2020-01-01T02:00:00.123456+02:00' }
    const { body } = await admin.post(`${leasesPath(namespace)}?dryRun=All`, lease('zoned', spec))
    expect(body.spec).toEqual({ acquireTime: '2020-01-01T00:00:00.123456Z' })
  })

  it.each([
    ['2020-01-01T00:00:00Z', 'Z', '.000000'],
    ['2020-01-01T00:00:00.123Z', '.123Z', '.000000'],
    ['2020-01-01T00:00:00.123456789Z', '789Z', 'Z07:00'],
    ['yesterday', 'yesterday', '2006'],
  ])('must have exactly six fractional digits, unlike %s', async (text, rest, expected) => {
    const why = `parsing time "${text}" as "${layout}": cannot parse "${rest}" as "${expected}"`
    await expectUndecodable({ renewTime: text }, why)
    await expectUndecodable({ acquireTime: text }, why)
  })

  it('must exist', async () => {
    const text = '2020-13-01T00:00:00.000000Z'
    await expectUndecodable({ renewTime: text }, `parsing time "${text}": month out of range`)
  })

  it('must be text', async () => {
    const why = 'json: cannot unmarshal number into Go struct field LeaseSpec.spec.renewTime of type string'
    await expectUndecodable({ renewTime: 1_577_836_800 }, why)
  })
})

describe('the numbers of a lease', () => {
  it.each([
    ['5', 'string'],
    [1.5, 'number 1.5'],
    [3_000_000_000, 'number 3000000000'],
  ])('must be whole and of 32 bits, unlike %j', async (value, told) => {
    const field = 'Go struct field LeaseSpec.spec.leaseDurationSeconds of type int32'
    await expectUndecodable({ leaseDurationSeconds: value }, `json: cannot unmarshal ${told} into ${field}`)
  })

  it.each([0, -1])('must be positive for the duration, unlike %d', async (leaseDurationSeconds) => {
    await expectInvalid({}, { leaseDurationSeconds }, [
      {
        field: 'spec.leaseDurationSeconds',
        message: `Invalid value: ${leaseDurationSeconds}: must be greater than 0`,
        reason: 'FieldValueInvalid',
      },
    ])
  })

  it('are all told that are wrong', async () => {
    await expectInvalid({}, { leaseDurationSeconds: 0, leaseTransitions: -1 }, [
      {
        field: 'spec.leaseDurationSeconds',
        message: 'Invalid value: 0: must be greater than 0',
        reason: 'FieldValueInvalid',
      },
      {
        field: 'spec.leaseTransitions',
        message: 'Invalid value: -1: must be greater than or equal to 0',
        reason: 'FieldValueInvalid',
      },
    ])
  })

  it('are checked on every update', async () => {
    const { body } = await admin.post(leasesPath(namespace), lease('checked', { leaseDurationSeconds: 1 }))
    const { status } = await admin.put(leasesPath(namespace, 'checked'), { ...body, spec: { leaseDurationSeconds: 0 } })
    expect(status).toBe(422)
  })
})

describe('the strategy of a lease', () => {
  it('must be there when a preferred holder is', async () => {
    await expectInvalid({}, { preferredHolder: 'a' }, [
      {
        field: 'spec.preferredHolder',
        message: 'Forbidden: may only be specified if `strategy` is defined',
        reason: 'FieldValueForbidden',
      },
    ])
  })

  it('is known or belongs to a domain', async () => {
    const spec = { strategy: 'example.com/first', preferredHolder: 'a' }
    expect((await admin.post(`${leasesPath(namespace)}?dryRun=All`, lease('owned', spec))).status).toBe(201)
    const { status, body } = await admin.post(leasesPath(namespace), lease('unknown', { strategy: 'First' }))
    expect(status).toBe(422)
    expect(body.message).toContain('Unsupported value: "First": supported values: "OldestEmulationVersion"')
  })
})

describe('metadata', () => {
  it.each(['A_b', '-a', 'a..b'])('must name a DNS subdomain, unlike %s', async (name) => {
    await expectInvalid({ name }, {}, [
      { field: 'metadata.name', message: `Invalid value: "${name}": ${SUBDOMAIN}`, reason: 'FieldValueInvalid' },
    ])
  })

  it('must not have a name of more than 253 characters', async () => {
    const name = 'a'.repeat(254)
    await expectInvalid({ name }, {}, [
      {
        field: 'metadata.name',
        message: `Invalid value: "${name}": must be no more than 253 characters`,
        reason: 'FieldValueInvalid',
      },
    ])
  })

  it('must have a name', async () => {
    await expectInvalid({ name: undefined }, {}, [
      {
        field: 'metadata.name',
        message: 'Required value: name or generateName is required',
        reason: 'FieldValueRequired',
      },
    ])
  })

  it('must have labels that can be selected by', async () => {
    await expectInvalid({ labels: { 'a b': 'ok' } }, {}, [
      { field: 'metadata.labels', message: `Invalid value: "a b": ${LABEL_KEY}`, reason: 'FieldValueInvalid' },
    ])
    await expectInvalid({ labels: { '/c': '' } }, {}, [
      {
        field: 'metadata.labels',
        message: 'Invalid value: "/c": prefix part must be non-empty',
        reason: 'FieldValueInvalid',
      },
    ])
  })

  it('must have qualified names for annotations and finalizers', async () => {
    const message = `Invalid value: "a b": ${LABEL_KEY}`
    await expectInvalid({ annotations: { 'a b': 'any thing' } }, {}, [
      { field: 'metadata.annotations', message, reason: 'FieldValueInvalid' },
    ])
    await expectInvalid({ finalizers: ['a b'] }, {}, [
      { field: 'metadata.finalizers', message, reason: 'FieldValueInvalid' },
    ])
  })

  it('must have complete owner references', async () => {
    // The embedded server answers like 1.36.
    const cause =
      wantedVersions()[0] === '1.36.3'
        ? { field: 'metadata.ownerReferences.uid', message: 'Invalid value: "": must not be empty' }
        : { field: 'metadata.ownerReferences[0].uid', message: 'Required value: must not be empty' }
    const reason = cause.message.startsWith('Required') ? 'FieldValueRequired' : 'FieldValueInvalid'
    const incomplete = { apiVersion: 'v1', kind: 'Pod', name: 'x' }
    await expectInvalid({ ownerReferences: [incomplete] }, {}, [{ ...cause, reason }])
  })

  it('must have labels of text', async () => {
    const { status, body } = await admin.post(leasesPath(namespace), { metadata: { name: 'x', labels: { a: 1 } } })
    expect(status).toBe(400)
    expect(body.message).toContain(
      'json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string',
    )
  })
})

describe('a body', () => {
  it('may leave its type out', async () => {
    const { status, body } = await admin.post(leasesPath(namespace), { metadata: { name: 'untyped' } })
    expect(status).toBe(201)
    expect(body).toMatchObject({ kind: 'Lease', apiVersion: 'coordination.k8s.io/v1', spec: {} })
  })

  it.each([
    ['another kind', configMap('x'), /^ConfigMap in version "v1" cannot be handled as a Lease: /],
    [
      'another version',
      { ...lease('x'), apiVersion: 'coordination.k8s.io/v9' },
      /^Lease in version "v9" cannot be handled as a Lease: /,
    ],
    [
      'no JSON',
      '{nope',
      /^the object provided is unrecognized \(must be of type Lease\): couldn't get version\/kind; json parse error: /,
    ],
    [
      'nothing',
      '',
      /^the object provided is unrecognized \(must be of type Lease\): couldn't get version\/kind; json parse error: /,
    ],
  ])('is refused when it is %s', async (_what, sent, message) => {
    const { status, body } = await admin.post(leasesPath(namespace), sent)
    expect(status).toBe(400)
    expect(body).toMatchObject({ reason: 'BadRequest', message: expect.stringMatching(message) as string })
  })

  it('is refused with 415 in a type that is not known', async () => {
    const { status, body } = await admin.send('POST', leasesPath(namespace), { body: '{}', contentType: 'text/plain' })
    expect(status).toBe(415)
    expect(body).toMatchObject({ reason: 'UnsupportedMediaType' })
  })

  it('loses fields that the kind does not have, with a warning', async () => {
    const { status, headers, body } = await admin.post(leasesPath(namespace), {
      metadata: { name: 'warned', frob: 1 },
      spec: { holderIdentity: 'a', frob: 1 },
    })
    expect(status).toBe(201)
    expect(body.spec).toEqual({ holderIdentity: 'a' })
    expect(body.metadata).not.toHaveProperty('frob')
    expect(headers['warning']).toBe(
      String.raw`299 - "unknown field \"metadata.frob\"", 299 - "unknown field \"spec.frob\""`,
    )
  })

  it('loses fields with the names of inherited properties', async () => {
    const spec = { holderIdentity: 'a', constructor: 1, toString: 2 }
    const { status, headers, body } = await admin.post(leasesPath(namespace), { metadata: { name: 'inherited' }, spec })
    expect(status).toBe(201)
    expect(body.spec).toEqual({ holderIdentity: 'a' })
    expect(headers['warning']).toBe(
      String.raw`299 - "unknown field \"spec.constructor\"", 299 - "unknown field \"spec.toString\""`,
    )
  })

  it('loses them without a warning when the client ignores them', async () => {
    const path = `${leasesPath(namespace)}?fieldValidation=Ignore`
    const { status, headers } = await admin.post(path, { metadata: { name: 'ignored' }, spec: { frob: 1 } })
    expect(status).toBe(201)
    expect(headers['warning']).toBeUndefined()
  })

  it('is refused for them when the client is strict', async () => {
    const path = `${leasesPath(namespace)}?fieldValidation=Strict`
    const { status, body } = await admin.post(path, { metadata: { name: 'strict' }, spec: { frob: 1 } })
    expect(status).toBe(400)
    expect(body.message).toBe(
      'Lease in version "v1" cannot be handled as a Lease: strict decoding error: unknown field "spec.frob"',
    )
  })

  it('loses nulls and empty maps', async () => {
    const metadata = { name: 'sparse', labels: {}, annotations: {}, finalizers: [] }
    const sent = { metadata, spec: { holderIdentity: null, leaseTransitions: 0 } }
    const { body } = await admin.post(leasesPath(namespace), sent)
    expect(body.spec).toEqual({ leaseTransitions: 0 })
    expect(Object.keys(body.metadata).filter((field) => field in metadata)).toEqual(['name'])
  })
})

describe('a config map', () => {
  it('must have valid keys, each once', async () => {
    const path = configMapsPath(namespace)
    const badKey = await admin.post(path, configMap('keys', { 'a b': '1' }))
    expect(badKey.status).toBe(422)
    expect(badKey.body.message).toContain(
      `data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.'`,
    )
    const twice = await admin.post(path, { ...configMap('keys', { a: '1' }), binaryData: { a: 'AAAA' } })
    expect(twice.body.message).toBe(
      'ConfigMap "keys" is invalid: data[a]: Invalid value: "a": duplicate of key present in binaryData',
    )
  })

  it('must not hold more than 1 MiB', async () => {
    const { status, body } = await admin.post(
      configMapsPath(namespace),
      configMap('big', { a: 'x'.repeat(2 ** 20 + 1) }),
    )
    expect(status).toBe(422)
    expect(body.message).toContain('Too long: may not be more than 1048576 bytes')
  })

  it('does not change once it is immutable', async () => {
    await admin.post(configMapsPath(namespace), { ...configMap('fixed', { a: '1' }), immutable: true })
    const sent = { ...configMap('fixed', { a: '2' }), immutable: true }
    const { status, body } = await admin.put(configMapsPath(namespace, 'fixed'), sent)
    expect(status).toBe(422)
    expect(body.message).toBe(
      'ConfigMap "fixed" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    )
  })
})
