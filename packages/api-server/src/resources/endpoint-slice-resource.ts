/** `discovery.k8s.io`: endpoint slices. */
import { isIPv4, isIPv6 } from 'node:net'
import type { FieldCause } from '../objects/api-status.ts'
import { duplicateValue, invalidValue, requiredValue, tooManyItems, unsupportedValue } from '../objects/field-causes.ts'
import { canonicalIpErrors, endpointIpErrors, ipErrors } from '../objects/ip-rules.ts'
import {
  asJsonObject,
  asJsonObjects,
  asString,
  asStrings,
  equalJson,
  type JsonObject,
  type JsonValue,
} from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { labelKeyErrors, labelValueErrors, nameErrors } from '../objects/name-rules.ts'
import { kindSchema, objectReference } from './metadata-schema.ts'
import { atomicObject, list, map, object, pointer, setOf, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'

const ADDRESS_TYPES = ['FQDN', 'IPv4', 'IPv6']
const MAX_ENDPOINTS = 1000
const MAX_ADDRESSES = 100
const MAX_PORTS = 20_000
const MAX_HINTS = 8

/** The protocols of ports, as the API server lists them. */
export const PORT_PROTOCOLS: readonly string[] = ['SCTP', 'TCP', 'UDP']

const named = (name: string) => object(name, { name: value('string') })

const endpoint = object('Endpoint', {
  addresses: setOf(value('string')),
  conditions: object('EndpointConditions', {
    ready: pointer('boolean'),
    serving: pointer('boolean'),
    terminating: pointer('boolean'),
  }),
  hostname: pointer('string'),
  targetRef: objectReference,
  deprecatedTopology: map(value('string')),
  nodeName: pointer('string'),
  zone: pointer('string'),
  hints: object('EndpointHints', { forZones: list(named('ForZone')), forNodes: list(named('ForNode')) }),
})

const endpointPort = atomicObject('EndpointPort', {
  name: pointer('string'),
  protocol: pointer('string'),
  port: pointer('int32'),
  appProtocol: pointer('string'),
})

function completeSlice(slice: KubeObject): KubeObject {
  const endpoints = asJsonObjects(slice['endpoints']).map((each) => ({ conditions: {}, ...each }))
  const ports = asJsonObjects(slice['ports']).map((port) => ({ name: '', protocol: 'TCP', ...port }))
  return { ...slice, endpoints: orNull(endpoints), ports: orNull(ports) }
}

/** Go writes these lists even if they are empty. */
function orNull(items: JsonObject[]): JsonValue {
  return items.length === 0 ? null : items
}

/** Writes through this version drop the topology of former versions, unless they leave the endpoints as they are. */
function withoutTopology(slice: KubeObject, { previous }: WriteTarget): KubeObject {
  if (equalJson(previous?.['endpoints'], slice['endpoints'])) return slice
  const endpoints = asJsonObjects(slice['endpoints']).map(({ deprecatedTopology: _topology, ...kept }) => kept)
  return { ...slice, endpoints: orNull(endpoints) }
}

function validateSlice(slice: KubeObject, { previous }: WriteTarget): FieldCause[] {
  const type = asString(slice['addressType']) ?? ''
  const isUnchanged = previous !== undefined && equalJson(previous['endpoints'], slice['endpoints'])
  return [
    ...validateAddressType(type),
    ...validatePorts(asJsonObjects(slice['ports'])),
    ...(isUnchanged ? [] : validateEndpoints(asJsonObjects(slice['endpoints']), type)),
    ...(previous === undefined || previous['addressType'] === slice['addressType']
      ? []
      : [invalidValue('addressType', type, 'field is immutable')]),
  ]
}

function validateAddressType(type: string): FieldCause[] {
  if (type === '') return [requiredValue('addressType')]
  return ADDRESS_TYPES.includes(type) ? [] : [unsupportedValue('addressType', type, ADDRESS_TYPES)]
}

function validatePorts(ports: readonly JsonObject[]): FieldCause[] {
  if (ports.length > MAX_PORTS) return [tooManyItems('ports', ports.length, MAX_PORTS)]
  return ports.flatMap(({ name, protocol, appProtocol }, index) => {
    const path = `ports[${index}]`
    const text = asString(name) ?? ''
    const causes = text === '' ? [] : invalidAs('dns-label', `${path}.name`, text)
    if (ports.slice(0, index).some((other) => (asString(other['name']) ?? '') === text)) {
      causes.push(duplicateValue(`${path}.name`, text))
    }
    if (!PORT_PROTOCOLS.includes(asString(protocol) ?? '')) {
      causes.push(unsupportedValue(`${path}.protocol`, protocol ?? '', PORT_PROTOCOLS))
    }
    return [...causes, ...validateAppProtocol(appProtocol, `${path}.appProtocol`)]
  })
}

function validateAppProtocol(appProtocol: JsonValue | undefined, path: string): FieldCause[] {
  const text = asString(appProtocol)
  return text === undefined ? [] : labelKeyErrors(text).map((why) => invalidValue(path, text, why))
}

function validateEndpoints(endpoints: readonly JsonObject[], type: string): FieldCause[] {
  if (endpoints.length > MAX_ENDPOINTS) return [tooManyItems('endpoints', endpoints.length, MAX_ENDPOINTS)]
  return endpoints.flatMap((each, index) => validateEndpoint(each, type, `endpoints[${index}]`))
}

function validateEndpoint(each: JsonObject, type: string, path: string): FieldCause[] {
  const addresses = asStrings(each['addresses'])
  const [nodeName, hostname] = [asString(each['nodeName']), asString(each['hostname'])]
  return [
    ...(addresses.length === 0 ? [requiredValue(`${path}.addresses`, 'must contain at least 1 address')] : []),
    ...(addresses.length > MAX_ADDRESSES ? [tooManyItems(`${path}.addresses`, addresses.length, MAX_ADDRESSES)] : []),
    ...addresses.flatMap((address, index) => validateAddress(address, type, `${path}.addresses`, index)),
    ...(nodeName === undefined ? [] : invalidAs('dns-subdomain', `${path}.nodeName`, nodeName)),
    ...(hostname === undefined ? [] : invalidAs('dns-label', `${path}.hostname`, hostname)),
    ...validateHints(asJsonObject(each['hints']), `${path}.hints`),
  ]
}

function validateAddress(address: string, type: string, list: string, index: number): FieldCause[] {
  const path = `${list}[${index}]`
  if (type === 'FQDN') return validateDomain(address, path)
  // The real server does not validate the addresses of an unknown type.
  if (!ADDRESS_TYPES.includes(type)) return []
  const causes = [...ipErrors(path, address)]
  if (causes.length === 0 && type === 'IPv6') causes.push(...canonicalIpErrors(path, address))
  if (causes.length > 0) return causes
  const fits = type === 'IPv4' ? isIPv4(address) : isIPv6(address)
  return [
    ...(fits ? [] : [invalidValue(list, address, `must be an ${type} address`)]),
    ...endpointIpErrors(path, address),
  ]
}

function validateDomain(domain: string, path: string): FieldCause[] {
  const name = domain.replace(/\.$/, '')
  if (name === '') return [requiredValue(path)]
  const errors = nameErrors('dns-subdomain', name)
  if (errors.length > 0) return [invalidValue(path, name, errors.join(','))]
  if (name.includes('.')) return name.split('.').flatMap((label) => invalidAs('dns-label', path, label))
  return [invalidValue(path, name, 'should be a domain with at least two segments separated by dots')]
}

function validateHints(hints: JsonObject, path: string): FieldCause[] {
  return [
    ...validateHintNames(asJsonObjects(hints['forZones']), `${path}.forZones`, labelValueErrors),
    ...validateHintNames(asJsonObjects(hints['forNodes']), `${path}.forNodes`, (name) =>
      nameErrors('dns-subdomain', name),
    ),
  ]
}

function validateHintNames(
  hints: readonly JsonObject[],
  path: string,
  errorsOf: (name: string) => readonly string[],
): FieldCause[] {
  if (hints.length > MAX_HINTS) return [tooManyItems(path, hints.length, MAX_HINTS)]
  const names = hints.map(({ name }) => asString(name) ?? '')
  return names.flatMap((name, index) => {
    const field = `${path}[${index}].name`
    const repeats = names.indexOf(name) < index ? [duplicateValue(field, name)] : []
    return [...repeats, ...errorsOf(name).map((why) => invalidValue(field, name, why))]
  })
}

function invalidAs(rule: 'dns-label' | 'dns-subdomain', field: string, name: string): FieldCause[] {
  return nameErrors(rule, name).map((why) => invalidValue(field, name, why))
}

/** Endpoint slices. */
export const endpointSliceResource: ResourceDefinition = defineResource({
  group: 'discovery.k8s.io',
  version: 'v1',
  resource: 'endpointslices',
  kind: 'EndpointSlice',
  countsGenerations: true,
  countsLabels: true,
  schema: kindSchema('EndpointSlice', {
    addressType: value('string'),
    endpoints: list(endpoint),
    ports: list(endpointPort),
  }),
  withDefaults: completeSlice,
  prepare: withoutTopology,
  validate: validateSlice,
})
