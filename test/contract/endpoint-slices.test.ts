import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import type { ApiAnswer, ContractClient } from './contract-client.ts'
import { MERGE_PATCH } from './contract-client.ts'
import { resourcePath } from './sample-objects.ts'

type Fields = Readonly<Record<string, unknown>>

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
})

afterAll(async () => server[Symbol.asyncDispose]())

const path = (name?: string): string => resourcePath('/apis/discovery.k8s.io/v1', namespace, 'endpointslices', name)

const slice = (name: string, fields: Fields = {}): Fields => ({
  metadata: { name, labels: { 'kubernetes.io/service-name': 'web' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['192.0.2.10'] }],
  ports: [{ port: 8443 }],
  ...fields,
})

const addresses = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `10.1.${Math.floor(index / 200)}.${(index % 200) + 1}`)

const tryOut = (fields: Fields): Promise<ApiAnswer> => admin.post(`${path()}?dryRun=All`, slice('tried', fields))

/** Sends a slice that must be refused with 422 and exactly these causes. */
async function expectInvalid(fields: Fields, ...causes: readonly (readonly [field: string, message: string])[]) {
  const { status, body } = await tryOut(fields)
  expect({ status, message: body.message }).toEqual({
    status: 422,
    message: expect.stringMatching(/^EndpointSlice\.discovery\.k8s\.io "tried" is invalid: /) as string,
  })
  const told = (body as unknown as { details: { causes: { field: string; message: string }[] } }).details.causes
  expect(told.map(({ field, message }) => [field, message])).toEqual(causes)
}

const withAddress = (address: string, addressType = 'IPv4'): Fields => ({
  addressType,
  endpoints: [{ addresses: [address] }],
})

describe('an endpoint slice', () => {
  it('is stored, with the name and the protocol that its ports do not give', async () => {
    const { status, body } = await admin.post(path(), slice('stored'))
    expect(status).toBe(201)
    const { metadata, ...content } = body
    expect(metadata).toMatchObject({ name: 'stored', namespace, generation: 1 })
    expect(content).toEqual({
      kind: 'EndpointSlice',
      apiVersion: 'discovery.k8s.io/v1',
      addressType: 'IPv4',
      endpoints: [{ addresses: ['192.0.2.10'], conditions: {} }],
      ports: [{ name: '', protocol: 'TCP', port: 8443 }],
    })
  })

  it('may be empty, and says so with null', async () => {
    const fields = { metadata: { name: 'empty' }, endpoints: [], ports: [] }
    expect((await admin.post(path(), slice('empty', fields))).status).toBe(201)
    const { body } = await admin.get(path('empty'))
    expect(body).toMatchObject({ endpoints: null, ports: null })
  })

  it('keeps what it knows of an endpoint', async () => {
    const endpoint = {
      addresses: ['192.0.2.10', '192.0.2.11'],
      conditions: { ready: false, serving: true, terminating: true },
      hostname: 'a',
      nodeName: 'node-a',
      zone: 'zone-a',
      targetRef: { kind: 'Pod', name: 'a', namespace },
      hints: { forZones: [{ name: 'zone-a' }], forNodes: [{ name: 'node-a' }] },
    }
    const { body } = await admin.post(path(), slice('known', { endpoints: [endpoint] }))
    expect(body).toMatchObject({ endpoints: [endpoint] })
  })

  it('drops the topology of former versions', async () => {
    const deprecatedTopology = { 'kubernetes.io/hostname': 'a' }
    const { body } = await tryOut({ endpoints: [{ addresses: ['192.0.2.10'], deprecatedTopology }] })
    expect(body).toMatchObject({ endpoints: [{ addresses: ['192.0.2.10'], conditions: {} }] })
    expect(body).not.toHaveProperty('endpoints.0.deprecatedTopology')
  })

  it('counts the changes of its content and of its labels, but not those of its annotations', async () => {
    const { body } = await admin.post(path(), slice('counted'))
    expect(body.metadata.generation).toBe(1)
    const change = async (patch: Fields): Promise<number | undefined> =>
      (await admin.patch(path('counted'), MERGE_PATCH, patch)).body.metadata.generation
    expect(await change({ metadata: { annotations: { a: 'b' } } })).toBe(1)
    expect(await change({ endpoints: [{ addresses: ['192.0.2.11'] }] })).toBe(2)
    expect(await change({ metadata: { labels: { a: 'b' } } })).toBe(3)
  })

  it('is not created by PUT', async () => {
    const { status } = await admin.put(path('missing'), slice('missing'))
    expect(status).toBe(404)
  })

  it('is overwritten by PUT without a version, and not with an old one', async () => {
    const { body } = await admin.post(path(), slice('versioned'))
    const blind = await admin.put(path('versioned'), slice('versioned', { endpoints: null }))
    expect(blind.status).toBe(200)
    expect((await admin.put(path('versioned'), body)).status).toBe(409)
  })

  it('cannot change its address type', async () => {
    const { body } = await admin.post(path(), slice('typed', { endpoints: [] }))
    const { status, body: answer } = await admin.put(path('typed'), { ...body, addressType: 'IPv6' })
    expect(status).toBe(422)
    // Kubernetes 1.37 does not repeat the value.
    expect(answer.message).toMatch(
      /^EndpointSlice\.discovery\.k8s\.io "typed" is invalid: addressType: Invalid value: ("IPv6"|null): field is immutable$/,
    )
  })

  it('answers a deletion with a Status', async () => {
    await admin.post(path(), slice('doomed'))
    expect((await admin.delete(path('doomed'))).body).toMatchObject({ kind: 'Status', status: 'Success' })
  })

  it.each([undefined, 'IPv5'])('must have an address type that there is, unlike %s', async (addressType) => {
    await expectInvalid({ addressType }, [
      'addressType',
      addressType === undefined
        ? 'Required value'
        : 'Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6"',
    ])
  })
})

describe('the endpoints of a slice', () => {
  const LOOPBACK = 'may not be in the loopback range (127.0.0.0/8, ::1/128)'
  const LINK_LOCAL = 'may not be in the link-local range (169.254.0.0/16, fe80::/10)'
  const MULTICAST = 'may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)'

  it.each([
    ['IPv4', '127.0.0.1', LOOPBACK],
    ['IPv4', '127.8.9.10', LOOPBACK],
    ['IPv4', '169.254.1.1', LINK_LOCAL],
    ['IPv4', '224.0.0.5', MULTICAST],
    ['IPv4', '0.0.0.0', 'may not be unspecified (0.0.0.0)'],
    ['IPv4', '1.2.3', 'must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ['IPv4', '192.0.2.010', 'must not have leading 0s'],
    ['IPv4', '::ffff:192.0.2.10', 'must not be an IPv4-mapped IPv6 address'],
    ['IPv6', '::1', LOOPBACK],
    ['IPv6', 'fe80::1', LINK_LOCAL],
    ['IPv6', 'febf::1', LINK_LOCAL],
    ['IPv6', 'ff02::1', MULTICAST],
    ['IPv6', '::', 'may not be unspecified (::)'],
    ['IPv6', '2001:DB8::1', 'must be in canonical form ("2001:db8::1")'],
    ['IPv6', '2001:db8:0:0::1', 'must be in canonical form ("2001:db8::1")'],
  ])('of type %s must be reachable, unlike %s', async (type, address, why) => {
    await expectInvalid(withAddress(address, type), [
      'endpoints[0].addresses[0]',
      `Invalid value: ${JSON.stringify(address)}: ${why}`,
    ])
  })

  it('must be of the address type of the slice', async () => {
    await expectInvalid(withAddress('2001:db8::1'), [
      'endpoints[0].addresses',
      'Invalid value: "2001:db8::1": must be an IPv4 address',
    ])
    await expectInvalid(withAddress('192.0.2.10', 'IPv6'), [
      'endpoints[0].addresses',
      'Invalid value: "192.0.2.10": must be an IPv6 address',
    ])
  })

  it.each([
    ['IPv4', '192.0.2.10'],
    ['IPv4', '225.0.0.1'],
    ['IPv6', '2001:db8::1'],
    ['IPv6', 'ff05::1'],
    ['FQDN', 'a.example.com'],
    ['FQDN', 'a.example.com.'],
  ])('of type %s may be %s', async (type, address) => {
    const { status, body } = await tryOut(withAddress(address, type))
    expect({ status, message: body.message }).toEqual({ status: 201 })
  })

  it('of type FQDN must be domains of at least two parts', async () => {
    await expectInvalid(withAddress('localhost', 'FQDN'), [
      'endpoints[0].addresses[0]',
      'Invalid value: "localhost": should be a domain with at least two segments separated by dots',
    ])
  })

  it('must have an address, and at most 100', async () => {
    // Kubernetes 1.37 does not say how many.
    const required = expect.stringMatching(/^Required value(: must contain at least 1 address)?$/) as string
    await expectInvalid({ endpoints: [{ addresses: [] }] }, ['endpoints[0].addresses', required])
    await expectInvalid({ endpoints: [{ addresses: addresses(101) }] }, [
      'endpoints[0].addresses',
      'Too many: 101: must have at most 100 items',
    ])
  })

  it('may be 1000 but not 1001, and may have an address in common', async () => {
    const endpoints = addresses(1001).map((address) => ({ addresses: [address] }))
    expect((await tryOut({ endpoints: [...endpoints.slice(2), ...endpoints.slice(2, 3)] })).status).toBe(201)
    await expectInvalid({ endpoints }, ['endpoints', 'Too many: 1001: must have at most 1000 items'])
  })

  it('must have names that are DNS labels and subdomains', async () => {
    const { status, body } = await tryOut({ endpoints: [{ addresses: ['192.0.2.10'], hostname: 'A', nodeName: 'B' }] })
    expect(status).toBe(422)
    expect(body.message).toContain('endpoints[0].nodeName: Invalid value: "B": a lowercase RFC 1123 subdomain must')
    expect(body.message).toContain('endpoints[0].hostname: Invalid value: "A": a lowercase RFC 1123 label must')
  })

  it('must not be hinted to one zone twice, nor to more than eight', async () => {
    const hinted = (zones: readonly string[]): Fields => ({
      endpoints: [{ addresses: ['192.0.2.10'], hints: { forZones: zones.map((name) => ({ name })) } }],
    })
    await expectInvalid(hinted(['a', 'a']), ['endpoints[0].hints.forZones[1].name', 'Duplicate value: "a"'])
    const many = Array.from({ length: 9 }, (_, index) => `zone-${index}`)
    await expectInvalid(hinted(many), ['endpoints[0].hints.forZones', 'Too many: 9: must have at most 8 items'])
  })
})

describe('the ports of a slice', () => {
  it('must have names of their own', async () => {
    await expectInvalid({ ports: [{ port: 1 }, { port: 2 }] }, ['ports[1].name', 'Duplicate value: ""'])
    const same = [
      { name: 'a', port: 1 },
      { name: 'a', port: 2 },
    ]
    await expectInvalid({ ports: same }, ['ports[1].name', 'Duplicate value: "a"'])
  })

  it('must have names that are DNS labels', async () => {
    const { status, body } = await tryOut({ ports: [{ name: 'HTTPS', port: 1 }] })
    expect(status).toBe(422)
    expect(body.message).toContain('ports[0].name: Invalid value: "HTTPS": a lowercase RFC 1123 label must consist of')
  })

  it('must have a protocol that there is', async () => {
    await expectInvalid({ ports: [{ port: 1, protocol: 'HTTP' }] }, [
      'ports[0].protocol',
      'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ])
  })

  it('may have any number, or none', async () => {
    const { status, body } = await tryOut({ ports: [{ name: 'a' }, { name: 'b', port: 70_000 }] })
    expect({ status, message: body.message }).toEqual({ status: 201 })
  })
})
