import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { eventually, startApiServerUnderTest, type ApiServerUnderTest } from './api-server-under-test.ts'
import { APPLY, MERGE_PATCH, STRATEGIC_PATCH, type ContractClient } from './contract-client.ts'
import { resourcePath } from './sample-objects.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const GROUP = 'contract.example.com'
const WIDGET = { apiVersion: `${GROUP}/v1`, kind: 'Widget' }

const SPEC_SCHEMA = {
  type: 'object',
  required: ['size'],
  properties: {
    size: { type: 'integer', minimum: 1 },
    mode: { type: 'string', enum: ['a', 'b'], default: 'a' },
    name: { type: 'string', maxLength: 3, pattern: '^[a-z]*$' },
    free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
    parts: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
      items: { type: 'object', required: ['key'], properties: { key: { type: 'string' }, value: { type: 'string' } } },
    },
  },
}

const STATUS_SCHEMA = { type: 'object', properties: { ready: { type: 'boolean' } } }

function version(name: string, storage: boolean): Record<string, unknown> {
  const properties = { spec: SPEC_SCHEMA, status: STATUS_SCHEMA }
  const openAPIV3Schema = { type: 'object', required: ['spec'], properties }
  return { name, served: true, storage, subresources: { status: {} }, schema: { openAPIV3Schema } }
}

function definition(plural: string, kind: string): Record<string, unknown> {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [version('v1', true), version('v1beta1', false)],
    },
  }
}

let server: ApiServerUnderTest
let admin: ContractClient
let namespace: string

beforeAll(async () => {
  server = await startApiServerUnderTest()
  admin = server.admin
  namespace = await server.createNamespace()
  expect((await admin.post(DEFINITIONS, definition('widgets', 'Widget'))).status).toBe(201)
  // The real server takes a moment until it can write what it can read.
  const probe = { ...WIDGET, metadata: { name: 'probe' }, spec: { size: 1 } }
  await eventually(
    () => admin.post(`${widgets()}?dryRun=All`, probe),
    ({ status }) => status === 201,
  )
})

afterAll(async () => server[Symbol.asyncDispose]())

function widgets(name?: string): string {
  return resourcePath(`/apis/${GROUP}/v1`, namespace, 'widgets', name)
}

function widget(name: string, spec: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return { ...WIDGET, metadata: { name }, spec }
}

describe('a definition', () => {
  it('is established, with names filled in', async () => {
    const { body } = await eventually(
      () => admin.get(`${DEFINITIONS}/widgets.${GROUP}`),
      ({ text }) => text.includes('"Established"'),
    )
    expect(body.spec).toMatchObject({
      conversion: { strategy: 'None' },
      names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    })
    expect(body.status).toMatchObject({
      acceptedNames: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
      storedVersions: ['v1'],
      conditions: expect.arrayContaining([
        expect.objectContaining({ type: 'NamesAccepted', status: 'True', reason: 'NoConflicts' }),
        expect.objectContaining({ type: 'Established', status: 'True', reason: 'InitialNamesAccepted' }),
      ]) as unknown[],
    })
  })

  it('must be named after its plural and group', async () => {
    const { status, body } = await admin.post(DEFINITIONS, {
      ...definition('gadgets', 'Gadget'),
      metadata: { name: 'gadgets' },
    })
    expect(status).toBe(422)
    expect(body.message).toContain('metadata.name: Invalid value: "gadgets": must be spec.names.plural+"."+spec.group')
  })

  it('adds its group to the discovery', async () => {
    const { body } = await admin.get(`/apis/${GROUP}`)
    expect(body).toMatchObject({ kind: 'APIGroup', preferredVersion: { version: 'v1' } })
    const { text } = await admin.get(`/apis/${GROUP}/v1`)
    expect(text).toContain('"widgets/status"')
  })

  it('takes its objects with it when it is deleted', async () => {
    await admin.post(DEFINITIONS, definition('gizmos', 'Gizmo'))
    const path = resourcePath(`/apis/${GROUP}/v1`, namespace, 'gizmos')
    const body = { ...WIDGET, kind: 'Gizmo', metadata: { name: 'a' }, spec: { size: 1 } }
    const created = await eventually(
      () => admin.post(path, body),
      ({ status }) => status === 201,
    )
    expect(created.status).toBe(201)
    await admin.delete(`${DEFINITIONS}/gizmos.${GROUP}`)
    const gone = await eventually(
      () => admin.get(path),
      ({ status }) => status === 404,
    )
    expect({ status: gone.status, text: gone.text }).toEqual({ status: 404, text: '404 page not found\n' })
  })
})

describe('a custom resource', () => {
  it('is stored with defaults and without unknown fields', async () => {
    const spec = { size: 2, bogus: 1, free: { any: { thing: 1 } }, tags: [] }
    const { status, body, headers } = await admin.post(widgets(), { ...widget('made', spec), status: { ready: true } })
    expect(status).toBe(201)
    expect(body.spec).toEqual({ size: 2, mode: 'a', free: { any: { thing: 1 } }, tags: [] })
    expect(body.metadata.generation).toBe(1)
    expect(body).not.toHaveProperty('status')
    expect(headers['warning']).toBe(String.raw`299 - "unknown field \"spec.bogus\""`)
  })

  it('is refused with every cause when it breaks its schema', async () => {
    const { status, body } = await admin.post(
      widgets(),
      widget('broken', { size: 0, mode: 'z', name: 'ABCD', tags: 'x' }),
    )
    expect(status).toBe(422)
    const causes = [
      'spec.mode: Unsupported value: "z": supported values: "a", "b"',
      'spec.name: Too long: may not be more than 3 bytes',
      'spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
      'spec.tags: Invalid value: "string": spec.tags in body must be of type array: "string"',
    ]
    for (const cause of causes) expect(body.message).toContain(cause)
    expect(body).toMatchObject({ reason: 'Invalid', details: { name: 'broken', group: GROUP, kind: 'Widget' } })
  })

  it.each([
    [{ ...WIDGET, metadata: { name: 'x' }, spec: {} }, 'spec.size: Required value'],
    [{ ...WIDGET, metadata: { name: 'x' } }, 'spec: Required value'],
  ])('is refused without a required field: %j', async (sent, why) => {
    const { status, body } = await admin.post(widgets(), sent)
    expect(status).toBe(422)
    expect(body.message).toContain(why)
  })

  it('keeps its status from writes of the object, and the rest from writes of the status', async () => {
    const { body: created } = await admin.post(widgets(), widget('split', { size: 1 }))
    const written = await admin.put(`${widgets('split')}/status`, {
      ...created,
      metadata: { ...created.metadata, labels: { ignored: 'yes' } },
      spec: { size: 9 },
      status: { ready: true },
    })
    expect(written.status).toBe(200)
    expect(written.body).toMatchObject({ spec: { size: 1 }, status: { ready: true }, metadata: { generation: 1 } })
    expect(written.body.metadata.labels).toBeUndefined()
    const updated = await admin.put(widgets('split'), { ...written.body, spec: { size: 3 }, status: { ready: false } })
    expect(updated.body).toMatchObject({ spec: { size: 3 }, status: { ready: true }, metadata: { generation: 2 } })
  })

  it('counts a generation for a change of content, not of metadata', async () => {
    await admin.post(widgets(), widget('counted', { size: 1 }))
    const labelled = await admin.patch(widgets('counted'), MERGE_PATCH, { metadata: { labels: { a: 'b' } } })
    expect(labelled.body.metadata.generation).toBe(1)
    const changed = await admin.patch(widgets('counted'), MERGE_PATCH, { spec: { size: 2 } })
    expect(changed.body.metadata.generation).toBe(2)
  })

  it('needs a resourceVersion to be updated, and is not created by an update', async () => {
    await admin.post(widgets(), widget('blind', { size: 1 }))
    const blind = await admin.put(widgets('blind'), widget('blind', { size: 2 }))
    expect(blind.status).toBe(422)
    expect(blind.body.message).toContain('metadata.resourceVersion: Invalid value: 0: must be specified for an update')
    const { status } = await admin.put(widgets('absent'), widget('absent', { size: 2 }))
    expect(status).toBe(404)
  })

  it('knows no strategic merge patch', async () => {
    await admin.post(widgets(), widget('strategic', { size: 1 }))
    expect((await admin.patch(widgets('strategic'), STRATEGIC_PATCH, {})).status).toBe(415)
  })

  it('is listed with its type', async () => {
    const { body } = await admin.get(widgets())
    expect(body).toMatchObject({ kind: 'WidgetList', apiVersion: `${GROUP}/v1` })
    expect(body.items?.[0]).toMatchObject(WIDGET)
  })

  it('is served in every version', async () => {
    await admin.post(widgets(), widget('versioned', { size: 1 }))
    const { body } = await admin.get(resourcePath(`/apis/${GROUP}/v1beta1`, namespace, 'widgets', 'versioned'))
    expect(body).toMatchObject({ apiVersion: `${GROUP}/v1beta1`, kind: 'Widget', spec: { size: 1 } })
  })

  it('is applied item by item where its schema says so', async () => {
    const path = (manager: string): string => `${widgets('applied')}?fieldManager=${manager}`
    const parts = (key: string): unknown => [{ key, value: '1' }]
    await admin.patch(path('one'), APPLY, widget('applied', { size: 4, tags: ['a'], parts: parts('a') }))
    const both = await admin.patch(path('two'), APPLY, widget('applied', { size: 4, tags: ['b'], parts: parts('b') }))
    expect(both.body.spec).toMatchObject({ tags: ['a', 'b'], parts: [{ key: 'a' }, { key: 'b' }] })
    const taken = [{ key: 'a', value: '2' }]
    const conflict = await admin.patch(path('two'), APPLY, widget('applied', { size: 5, parts: taken }))
    expect(conflict.status).toBe(409)
    expect(conflict.body.message).toBe(
      'Apply failed with 2 conflicts: conflicts with "one":\n- .spec.size\n- .spec.parts[key="a"].value',
    )
    const left = await admin.patch(path('one'), APPLY, widget('applied', { size: 4 }))
    expect(left.body.spec).toEqual({ size: 4, mode: 'a', tags: ['b'], parts: [{ key: 'b', value: '1' }] })
  })
})
