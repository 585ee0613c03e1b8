import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { negotiate } from '../src/http/negotiation.ts'
import { decodeProtobufBody, ProtobufError } from '../src/objects/protobuf-body.ts'
import { messageTypes } from '../src/resources/message-types.ts'
import { ResourceCatalog } from '../src/resources/resource-catalog.ts'
import { openApiV2, openApiV3, openApiV3Index } from '../src/openapi/openapi-documents.ts'
import { encodeOpenApiV2 } from '../src/openapi/protobuf-document.ts'
import { ProtobufReader } from '../src/objects/protobuf-reader.ts'
import { humanDuration } from '../src/tables/human-duration.ts'
import { startApiServer } from '../src/index.ts'
import { TestClient } from './test-client.ts'

const text = (number: number, content: string) => field(number, Buffer.from(content))
const field = (number: number, content: Buffer) =>
  Buffer.concat([Buffer.from([number * 8 + 2, content.length]), content])
const envelope = (apiVersion: string, kind: string, raw: Buffer) => {
  const type = Buffer.concat([text(1, apiVersion), text(2, kind)])
  return Buffer.concat([Buffer.from('k8s\0'), field(1, type), field(2, raw)])
}

const metadata = Buffer.concat([text(1, 'janitor'), text(2, ''), field(8, Buffer.alloc(0))])
const renewTime = Buffer.concat([Buffer.from([8, 0xe8, 0x07]), Buffer.from([16, 0x88, 0x27])])
const spec = Buffer.concat([text(1, ''), Buffer.from([16, 15]), field(4, renewTime)])
const lease = envelope('coordination.k8s.io/v1', 'Lease', Buffer.concat([field(1, metadata), field(2, spec)]))

describe('A body in protobuf', () => {
  test('says the same as in JSON: pointers keep their zero values, other fields do not, times are written out', () => {
    expect(decodeProtobufBody(lease)).toEqual({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'janitor' },
      spec: { holderIdentity: '', leaseDurationSeconds: 15, renewTime: '1970-01-01T00:16:40.000005Z' },
    })
  })

  test('is read or refused, whatever its bytes are', () => {
    const bytes = fc
      .tuple(fc.uint8Array({ maxLength: 40 }), fc.nat(lease.length), fc.boolean())
      .map(([noise, at, keeps]) =>
        Buffer.concat([lease.subarray(0, at), noise, keeps ? lease.subarray(at) : Buffer.alloc(0)]),
      )
    fc.assert(
      fc.property(bytes, (body) => {
        try {
          expect(decodeProtobufBody(body)).toHaveProperty('kind')
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
    )
  })
})

describe('The shapes of the built-in kinds', () => {
  test('name only types that there are', () => {
    const types = messageTypes()
    const named = [...types.values()].flatMap(({ fields }) =>
      fields.map(({ type }) => type).filter((type) => type.includes('.')),
    )
    expect(named.filter((type) => !types.has(type))).toEqual([])
  })
})

describe('OpenAPI documents', () => {
  const catalog = new ResourceCatalog({ isOn: true, versions: ['v1beta1'] })

  /** Every reference in a document, and what it has under that name. */
  const references = (document: object) =>
    [...JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path = '']) => path.split('/'))

  test('refer only to what they hold, in each version of each group and in the document of version 2', () => {
    const { paths } = openApiV3Index(catalog) as { paths: Record<string, unknown> }
    const documents = [openApiV2(catalog), ...Object.keys(paths).map((path) => openApiV3(catalog, path) ?? {})]
    expect(documents.length).toBeGreaterThan(12)
    for (const document of documents) {
      const missing = references(document).filter(
        (path) =>
          path.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document) ===
          undefined,
      )
      expect(missing).toEqual([])
    }
  })

  test('describe every kind that is served', () => {
    const definitions = JSON.stringify((openApiV2(catalog) as { definitions: object }).definitions)
    for (const { group, version, kind } of catalog.all()) {
      expect(definitions).toContain(JSON.stringify([{ group, kind, version }]))
    }
  })

  test('of version 2 are written in protobuf as well, with as many definitions', () => {
    const document = openApiV2(catalog) as { definitions: object }
    const fields = Object.fromEntries(new ProtobufReader(encodeOpenApiV2(document as never)))
    const definitions = [...new ProtobufReader(fields[9] as Buffer)]
    expect(definitions).toHaveLength(Object.keys(document.definitions).length)
  })
})

describe('The form of an answer', () => {
  const query = new URLSearchParams()

  test.each([
    [undefined, 'object'],
    ['*/*', 'object'],
    ['application/vnd.kubernetes.protobuf,application/json', 'object'],
    ['application/json;as=Table;v=v1;g=meta.k8s.io,application/json', 'table'],
    ['application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json', 'object'],
    ['application/json;q=0.1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1;q=0.9', 'metadata'],
  ])('for `Accept: %s` is %s', (accept, kind) => {
    expect(negotiate(accept, query).kind).toBe(kind)
  })

  test.each(['application/vnd.kubernetes.protobuf', 'text/html'])('for `Accept: %s` is refused with 406', (accept) => {
    expect(() => negotiate(accept, query)).toThrow(expect.objectContaining({ httpStatus: 406, code: 'NotAcceptable' }))
  })

  test.each([
    [-5000, '<invalid>'],
    [119_000, '119s'],
    [125_000, '2m5s'],
    [11 * 60_000, '11m'],
    [4 * 3_600_000, '4h'],
    [4 * 3_600_000 + 60_000, '4h1m'],
    [49 * 3_600_000, '2d1h'],
    [400 * 86_400_000, '400d'],
    [3 * 365 * 86_400_000, '3y'],
  ])('writes %d ms as %s', (ms, written) => {
    expect(humanDuration(ms)).toBe(written)
  })
})

describe('A server that provisions namespaces', () => {
  test('makes a namespace with the first object in it, but none for a dry run or with a name that no namespace can have', async () => {
    await using server = await startApiServer({ autoProvisionNamespaces: true })
    using admin = new TestClient(server)
    const createIn = (namespace: string, query = '') =>
      admin.send('POST', `/api/v1/namespaces/${namespace}/configmaps${query}`, { metadata: { name: 'one' } })
    expect((await createIn('fresh')).status).toBe(201)
    const { body } = await admin.send('GET', '/api/v1/namespaces/fresh')
    const labels = { 'kubernetes.io/metadata.name': 'fresh' }
    expect(body).toMatchObject({ metadata: { labels }, status: { phase: 'Active' } })
    expect((await createIn('dry', '?dryRun=All')).status).toBe(201)
    expect((await admin.send('GET', '/api/v1/namespaces/dry')).status).toBe(404)
    expect((await createIn('No_Name')).status).toBe(422)
  })
})
