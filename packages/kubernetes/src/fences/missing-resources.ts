import { ApiRequestError } from '../client/api-request-error.ts'
import { ApiTransport } from '../client/api-transport.ts'
import type { KubeConfigSource } from '../client/current-settings.ts'
import { isJsonObject, stringAt, type JsonObject } from '../json-object.ts'
import type { GuardedResources } from './fence-options.ts'

/**
 * The guarded resources that an API server does not serve, each as `PLURAL` or `GROUP/PLURAL`. A policy for one of them guards
 * nothing until the resource exists. The API server accepts it silently, so nothing else reveals a misspelled name.
 *
 * Only reads the discovery of the server. `*` always counts as served.
 *
 * @throws ApiRequestError (as a rejection) when the discovery cannot be read.
 */
export async function missingResources(
  kubeConfig: KubeConfigSource,
  guarded: readonly GuardedResources[],
  signal: AbortSignal = AbortSignal.timeout(10_000),
): Promise<readonly string[]> {
  const transport = new ApiTransport({ kubeConfig })
  const read = (path: string) => readDiscovery(transport, path, signal)
  try {
    const missing: string[] = []
    for (const { apiGroup, resources } of guarded) {
      if (apiGroup === '*') continue
      const served = await servedNames(read, apiGroup)
      const unknown = resources.filter((resource) => resource !== '*' && !served.has(resource))
      missing.push(...unknown.map((resource) => (apiGroup === '' ? resource : `${apiGroup}/${resource}`)))
    }
    return missing
  } finally {
    await transport.close()
  }
}

type ReadDiscovery = (path: string) => Promise<JsonObject | undefined>

/** The plural names of the resources that a group has in any of its versions. */
async function servedNames(read: ReadDiscovery, apiGroup: string): Promise<ReadonlySet<string | undefined>> {
  const lists = await Promise.all((await pathsOf(read, apiGroup)).map(read))
  return new Set(lists.flatMap((list) => listAt(list, 'resources').map((resource) => stringAt(resource, 'name'))))
}

/** The documents with the resources of a group: one for each of its versions. */
async function pathsOf(read: ReadDiscovery, apiGroup: string): Promise<readonly string[]> {
  if (apiGroup === '') return ['/api/v1']
  const group = await read(`/apis/${apiGroup}`)
  const versions = listAt(group, 'versions').flatMap((version) => stringAt(version, 'groupVersion') ?? [])
  return versions.map((version) => `/apis/${version}`)
}

/** A document of the discovery; undefined when there is none at that path. */
async function readDiscovery(transport: ApiTransport, path: string, signal: AbortSignal) {
  const target = { verb: 'get', group: '', resource: path, namespace: '', name: '' }
  try {
    const answer = await transport.send({ method: 'GET', path, target, signal })
    return isJsonObject(answer) ? answer : undefined
  } catch (error) {
    if (error instanceof ApiRequestError && error.statusCode === 404) return undefined
    throw error
  }
}

function listAt(object: JsonObject | undefined, key: string): readonly JsonObject[] {
  const list = object?.[key]
  return Array.isArray(list) ? list.filter(isJsonObject) : []
}
