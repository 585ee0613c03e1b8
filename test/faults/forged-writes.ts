import { APPLY_PATCH, JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, type Api, type ApiObject } from './api.ts'

/** A kind of object to write. */
export interface Target {
  readonly name: string
  /** The collection, within a namespace. */
  readonly path: (namespace: string) => string
  readonly object: (name: string) => object
  /** What a write changes. */
  readonly change: (value: number) => object
  readonly statusChange?: (value: number) => object
  /** Whether the kind is built in: only those take strategic merge patches. */
  readonly isBuiltIn: boolean
}

export const CONFIG_MAPS: Target = {
  name: 'configmaps',
  path: (namespace) => `/api/v1/namespaces/${namespace}/configmaps`,
  object: (name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { value: '0' } }),
  change: (value) => ({ data: { value: String(value) } }),
  isBuiltIn: true,
}

export const DEPLOYMENTS: Target = {
  name: 'deployments',
  path: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
  object: (name) => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'c', image: 'none' }] } },
    },
  }),
  change: (value) => ({ spec: { minReadySeconds: value } }),
  statusChange: (value) => ({ status: { observedGeneration: value } }),
  isBuiltIn: true,
}

export const WIDGETS: Target = {
  name: 'widgets',
  path: (namespace) => `/apis/faults.tenure.dev/v1/namespaces/${namespace}/widgets`,
  object: (name) => ({ apiVersion: 'faults.tenure.dev/v1', kind: 'Widget', metadata: { name }, spec: { value: 0 } }),
  change: (value) => ({ spec: { value } }),
  statusChange: (value) => ({ status: { value } }),
  isBuiltIn: false,
}

/** A write with a forged epoch, like one from a former leader or an attacker. */
export interface ForgedWrite {
  readonly name: string
  readonly send: (api: Api, at: ForgedAt) => Promise<number>
}

/** The object and annotations of a forged write. */
interface ForgedAt {
  readonly target: Target
  readonly namespace: string
  readonly name: string
  /** The annotations of the write. Undefined for a write that removes them. */
  readonly annotations: Readonly<Record<string, string>> | undefined
}

let values = 0

/** Every verb that changes an existing object, with the epoch. */
export function forgedWrites(target: Target): readonly ForgedWrite[] {
  const patches = [MERGE_PATCH, ...(target.isBuiltIn ? [STRATEGIC_PATCH] : [])]
  const writes: ForgedWrite[] = [
    { name: 'update', send: (api, at) => update(api, at) },
    ...patches.map((type) => ({ name: type, send: (api: Api, at: ForgedAt) => patch(api, at, type) })),
    { name: JSON_PATCH, send: (api, at) => jsonPatch(api, at) },
    { name: APPLY_PATCH, send: (api, at) => apply(api, at) },
  ]
  return writes
}

/** The same through `status`. */
export function forgedStatusWrites(target: Target): readonly ForgedWrite[] {
  return [
    { name: 'update status', send: (api, at) => update(api, at, '/status') },
    { name: 'patch status', send: (api, at) => patch(api, at, MERGE_PATCH, '/status') },
    ...(target.isBuiltIn
      ? [{ name: 'apply status', send: (api: Api, at: ForgedAt) => apply(api, at, '/status') }]
      : []),
  ]
}

function changeOf(target: Target, subresource: string): object {
  const value = ++values
  return subresource === '' ? target.change(value) : (target.statusChange?.(value) ?? {})
}

async function update(api: Api, at: ForgedAt, subresource = ''): Promise<number> {
  const path = `${at.target.path(at.namespace)}/${at.name}`
  const stored = await api.expect('GET', path)
  const { annotations: _, ...metadata } = stored.metadata
  const change = changeOf(at.target, subresource) as Record<string, object>
  const body = merged({ ...stored, metadata: { ...metadata, annotations: at.annotations } }, change)
  return (await api.send('PUT', `${path}${subresource}`, body)).status
}

async function patch(api: Api, at: ForgedAt, type: string, subresource = ''): Promise<number> {
  const path = `${at.target.path(at.namespace)}/${at.name}${subresource}`
  const annotations = at.annotations ?? { 'tenure.dev/epoch': null }
  const body = { ...changeOf(at.target, subresource), metadata: { annotations } }
  return (await api.send('PATCH', path, body, type)).status
}

async function jsonPatch(api: Api, at: ForgedAt): Promise<number> {
  const path = `${at.target.path(at.namespace)}/${at.name}`
  const operations =
    at.annotations === undefined
      ? [{ op: 'remove', path: '/metadata/annotations/tenure.dev~1epoch' }]
      : Object.entries(at.annotations).map(([key, value]) => ({
          op: 'add',
          path: `/metadata/annotations/${key.replaceAll('/', '~1')}`,
          value,
        }))
  return (await api.send('PATCH', path, operations, JSON_PATCH)).status
}

async function apply(api: Api, at: ForgedAt, subresource = ''): Promise<number> {
  const path = `${at.target.path(at.namespace)}/${at.name}${subresource}?fieldManager=forger&force=true`
  const { apiVersion, kind } = at.target.object(at.name) as ApiObject
  const metadata = { name: at.name, ...(at.annotations && { annotations: at.annotations }) }
  const body = { apiVersion, kind, metadata, ...changeOf(at.target, subresource) }
  return (await api.send('PATCH', path, body, APPLY_PATCH)).status
}

function merged(object: object, change: Record<string, object>): object {
  const parts = Object.entries(change).map(([key, value]) => [
    key,
    { ...(Reflect.get(object, key) as object), ...value },
  ])
  return { ...object, ...(Object.fromEntries(parts) as object) }
}
