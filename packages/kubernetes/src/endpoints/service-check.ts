import { ApiRequestError } from '../client/api-request-error.ts'
import type { Connection } from '../client/connection.ts'
import { getObject } from '../client/object-requests.ts'
import type { Resource } from '../client/resource.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../json-object.ts'
import { EndpointsRefusedError } from './endpoints-refused-error.ts'
import type { SliceSource } from './slice-object.ts'

const SERVICES: Resource = { group: '', version: 'v1', resource: 'services' }

/**
 * Reads the Service of a slice and returns its uid.
 *
 * @throws EndpointsRefusedError if it does not exist, has a selector, or does not fit the slice. @throws ApiRequestError
 */
export async function checkService(connection: Connection, source: SliceSource, signal: AbortSignal): Promise<string> {
  const { namespace, service } = source
  const reference = { ...SERVICES, namespace, name: service }
  const object = await connection.send(getObject(reference, signal)).catch((cause: unknown) => {
    if (!(cause instanceof ApiRequestError && cause.failure === 'not-found')) throw cause
    throw refused(source, 'it does not exist. Create it, without a selector', { cause })
  })
  const spec = isJsonObject(object) ? objectAt(object, 'spec') : {}
  if (Object.keys(objectAt(spec, 'selector')).length > 0) {
    throw refused(
      source,
      'it has a selector, so the EndpointSlice controller writes its endpoints. Remove the selector, or use another Service',
    )
  }
  assertFamily(spec, source)
  assertPorts(spec, source)
  return (isJsonObject(object) ? stringAt(objectAt(object, 'metadata'), 'uid') : undefined) ?? ''
}

function assertFamily(spec: JsonObject, source: SliceSource): void {
  const families: unknown = spec['ipFamilies']
  if (!Array.isArray(families) || families.length === 0 || families.includes(source.addressType)) return
  throw refused(source, `its ipFamilies are ${families.join(', ')}, so no client uses a slice of ${source.addressType}`)
}

/** A client finds the port of an endpoint by the name of the Service's port. */
function assertPorts(spec: JsonObject, source: SliceSource): void {
  const listed: unknown = spec['ports']
  const served = Array.isArray(listed) ? listed.filter(isJsonObject) : []
  // A headless Service may have none: clients then use the addresses only.
  if (served.length === 0) return
  for (const { name = '', protocol = 'TCP' } of source.ports) {
    const match = served.find((port) => (stringAt(port, 'name') ?? '') === name)
    if (match !== undefined && (stringAt(match, 'protocol') ?? 'TCP') === protocol) continue
    const has = served.map((port) => `"${stringAt(port, 'name') ?? ''}" ${stringAt(port, 'protocol') ?? 'TCP'}`)
    throw refused(source, `it has no port "${name}" ${protocol}, only ${has.join(', ')}. Correct \`ports\``)
  }
}

function refused(source: SliceSource, why: string, options?: ErrorOptions): EndpointsRefusedError {
  const message = `Could not keep endpoints for the Service ${source.namespace}/${source.service}: ${why}`
  return new EndpointsRefusedError(message, options)
}
