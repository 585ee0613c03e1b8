import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { MERGE_PATCH, type ApiAnswer, type ContractClient } from './contract-client.ts'
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

const path = (name?: string): string => resourcePath('/api/v1', namespace, 'services', name)

const create = (name: string, spec: Fields): Promise<ApiAnswer> => admin.post(path(), { metadata: { name }, spec })

/** Sends a service that must be refused with 422 and exactly these causes. */
async function expectInvalid(spec: Fields, ...causes: readonly (readonly [field: string, message: string])[]) {
  const { status, body } = await create('invalid', spec)
  expect({ status, message: body.message }).toEqual({
    status: 422,
    message: expect.stringMatching(/^Service "invalid" is invalid: /) as string,
  })
  const told = (body as unknown as { details: { causes: { field: string; message: string }[] } }).details.causes
  expect(told.map(({ field, message }) => [field, message])).toEqual(causes)
}

describe('a service', () => {
  it('gets an address in the cluster of its own', async () => {
    const [a, b] = [await create('a', { ports: [{ port: 80 }] }), await create('b', { ports: [{ port: 80 }] })]
    expect([a.status, b.status]).toEqual([201, 201])
    const address = expect.stringMatching(/^10\.0\.0\.\d+$/) as string
    expect(a.body.spec).toEqual({
      clusterIP: address,
      clusterIPs: [a.body.spec?.['clusterIP']],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      ports: [{ port: 80, protocol: 'TCP', targetPort: 80 }],
      sessionAffinity: 'None',
      type: 'ClusterIP',
    })
    expect(a.body.status).toEqual({ loadBalancer: {} })
    expect(b.body.spec?.['clusterIP']).not.toBe(a.body.spec?.['clusterIP'])
  })

  it('keeps its address through a write that does not give it, and cannot get another', async () => {
    const { body } = await create('kept', { ports: [{ port: 80 }] })
    const clusterIP = body.spec?.['clusterIP']
    const written = await admin.put(path('kept'), { metadata: { name: 'kept' }, spec: { ports: [{ port: 81 }] } })
    expect(written.body.spec).toMatchObject({ clusterIP, ports: [{ port: 81 }] })
    const other = { clusterIP: '10.0.0.250', clusterIPs: ['10.0.0.250'] }
    const moved = await admin.patch(path('kept'), MERGE_PATCH, { spec: other })
    expect(moved.status).toBe(422)
    expect(moved.body.message).toBe(
      'Service "kept" is invalid: spec.clusterIPs[0]: Invalid value: ["10.0.0.250"]: may not change once set',
    )
  })

  it('gets the address that it asks for, if it is free and in the range', async () => {
    const ports = [{ port: 80 }]
    const first = await create('asks', { clusterIP: '10.0.0.200', ports })
    expect(first.body.spec).toMatchObject({ clusterIP: '10.0.0.200', clusterIPs: ['10.0.0.200'] })
    await expectInvalid({ clusterIP: '10.0.0.200', ports }, [
      'spec.clusterIPs',
      'Invalid value: ["10.0.0.200"]: failed to allocate IP 10.0.0.200: provided IP is already allocated',
    ])
    const { status, body } = await create('beyond', { clusterIP: '192.0.2.1', ports })
    expect(status).toBe(422)
    expect(body.message).toContain('failed to allocate IP 192.0.2.1: ')
    expect((await admin.delete(path('asks'))).body).toMatchObject({ kind: 'Service' })
    expect((await create('again', { clusterIP: '10.0.0.200', ports })).status).toBe(201)
  })

  it('may be headless and without ports; without a selector it is open to both families', async () => {
    const { body } = await create('headless', { clusterIP: 'None' })
    expect(body.spec).toEqual({
      clusterIP: 'None',
      clusterIPs: ['None'],
      internalTrafficPolicy: 'Cluster',
      ipFamilies: ['IPv4', 'IPv6'],
      ipFamilyPolicy: 'RequireDualStack',
      sessionAffinity: 'None',
      type: 'ClusterIP',
    })
    const selecting = await create('selecting', { clusterIP: 'None', selector: { app: 'a' } })
    expect(selecting.body.spec).toMatchObject({ ipFamilies: ['IPv4'], ipFamilyPolicy: 'SingleStack' })
  })

  it('may be an external name, which has no address', async () => {
    const { body } = await create('external', { type: 'ExternalName', externalName: 'a.example.com' })
    expect(body.spec).toEqual({ type: 'ExternalName', externalName: 'a.example.com', sessionAffinity: 'None' })
    await expectInvalid({ type: 'ExternalName' }, ['spec.externalName', 'Required value'])
  })

  it('may have a name that begins with a digit', async () => {
    expect((await create('1st', { clusterIP: 'None' })).status).toBe(201)
    const { status, body } = await create('a.b', { clusterIP: 'None' })
    expect(status).toBe(422)
    expect(body.message).toBe('Service "a.b" is invalid: metadata.name: Invalid value: "a.b": must not contain dots')
  })

  it('must have ports unless it is headless', async () => {
    await expectInvalid({}, ['spec.ports', 'Required value'])
  })

  it('must have a type that there is', async () => {
    await expectInvalid({ type: 'Other', ports: [{ port: 80 }] }, [
      'spec.type',
      'Unsupported value: "Other": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
    ])
  })

  it('must have a selector of labels', async () => {
    const { status, body } = await create('selects', { selector: { 'a b': 'c' }, ports: [{ port: 80 }] })
    expect(status).toBe(422)
    expect(body.message).toContain('spec.selector: Invalid value: "a b": name part must consist of')
  })
})

describe('the ports of a service', () => {
  it.each([0, 65_536])('must have a number from 1 to 65535, unlike %d', async (port) => {
    await expectInvalid({ ports: [{ port, targetPort: 80 }] }, [
      'spec.ports[0].port',
      `Invalid value: ${port}: must be between 1 and 65535, inclusive`,
    ])
  })

  it('must have names when there are several, and each its own', async () => {
    await expectInvalid(
      { ports: [{ port: 80 }, { port: 81 }] },
      ['spec.ports[0].name', 'Required value'],
      ['spec.ports[1].name', 'Required value'],
    )
    const same = [
      { name: 'a', port: 80 },
      { name: 'a', port: 81 },
    ]
    await expectInvalid({ ports: same }, ['spec.ports[1].name', 'Duplicate value: "a"'])
  })

  it('must have a protocol that there is', async () => {
    await expectInvalid({ ports: [{ port: 80, protocol: 'HTTP' }] }, [
      'spec.ports[0].protocol',
      'Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"',
    ])
  })
})
