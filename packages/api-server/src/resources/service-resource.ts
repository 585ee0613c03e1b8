/** Services, with the cluster addresses of a cluster that has IPv4 only. */
import { isIPv4 } from 'node:net'
import type { FieldCause } from '../objects/api-status.ts'
import {
  duplicateValue,
  forbiddenValue,
  invalidValue,
  requiredValue,
  unsupportedValue,
} from '../objects/field-causes.ts'
import { ipErrors } from '../objects/ip-rules.ts'
import {
  asJsonObject,
  asJsonObjects,
  asString,
  asStrings,
  type JsonObject,
  type JsonValue,
} from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { labelKeyErrors, labelValueErrors, nameErrors } from '../objects/name-rules.ts'
import { keepStatusApart } from './core-resources.ts'
import { PORT_PROTOCOLS } from './endpoint-slice-resource.ts'
import { kindSchema } from './metadata-schema.ts'
import { anything, atomicMap, list, listBy, object, openObject, pointer, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'

const TYPES = ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort']
const HEADLESS = 'None'

/** The range of cluster addresses, as kube-apiserver has it by default: 10.0.0.0/24. The first belongs to the API server. */
const CLUSTER_ADDRESSES: readonly string[] = Array.from({ length: 253 }, (_, index) => `10.0.0.${index + 2}`)

const servicePort = object('ServicePort', {
  name: value('string'),
  protocol: value('string'),
  appProtocol: pointer('string'),
  port: value('int32'),
  targetPort: value('intOrString'),
  nodePort: value('int32'),
})

const serviceSpec = object('ServiceSpec', {
  ports: listBy(['port', 'protocol'], servicePort),
  selector: atomicMap(value('string')),
  clusterIP: value('string'),
  clusterIPs: list(value('string')),
  type: value('string'),
  externalIPs: list(value('string')),
  sessionAffinity: value('string'),
  loadBalancerIP: value('string'),
  loadBalancerSourceRanges: list(value('string')),
  externalName: value('string'),
  externalTrafficPolicy: value('string'),
  healthCheckNodePort: value('int32'),
  publishNotReadyAddresses: value('boolean'),
  sessionAffinityConfig: openObject('SessionAffinityConfig', {}),
  ipFamilies: list(value('string')),
  ipFamilyPolicy: pointer('string'),
  allocateLoadBalancerNodePorts: pointer('boolean'),
  loadBalancerClass: pointer('string'),
  internalTrafficPolicy: pointer('string'),
  trafficDistribution: pointer('string'),
})

function completeService(service: KubeObject): KubeObject {
  const spec = asJsonObject(service['spec'])
  const type = spec['type'] ?? 'ClusterIP'
  const ports = asJsonObjects(spec['ports']).map((port) => ({
    ...port,
    protocol: port['protocol'] ?? 'TCP',
    targetPort: (port['targetPort'] || port['port']) ?? 0,
  }))
  return {
    ...service,
    spec: {
      ...(type === 'ExternalName' ? {} : { internalTrafficPolicy: 'Cluster' }),
      ...spec,
      ...(ports.length === 0 ? {} : { ports }),
      sessionAffinity: spec['sessionAffinity'] ?? 'None',
      type,
    },
  }
}

const keepStatus = keepStatusApart(() => ({ loadBalancer: {} }))

function prepareService(service: KubeObject, target: WriteTarget): KubeObject {
  const kept = keepStatus(service, target)
  const spec = asJsonObject(kept['spec'])
  if (target.subresource !== '' || spec['type'] === 'ExternalName') return kept
  return { ...kept, spec: { ...spec, ...clusterAddress(spec, target) } }
}

/** The address and the families of a service: those that it asks for, those that it had, or new ones. */
function clusterAddress(given: JsonObject, target: WriteTarget): JsonObject {
  const { clusterIP: formerly, ipFamilies, ipFamilyPolicy } = asJsonObject(target.previous?.['spec'])
  const spec = withKnown({ clusterIP: formerly, ipFamilies, ipFamilyPolicy }, given)
  const clusterIP = givenAddress(spec) ?? freeAddress(target)
  return { clusterIP, clusterIPs: spec['clusterIPs'] ?? [clusterIP], ...families(spec, clusterIP) }
}

function givenAddress(spec: JsonObject): string | undefined {
  return asString(spec['clusterIP']) ?? asStrings(spec['clusterIPs'])[0]
}

/** Without a selector, a headless service may have endpoints of both families. */
function families(spec: JsonObject, clusterIP: string): JsonObject {
  const isOpen = clusterIP === HEADLESS && Object.keys(asJsonObject(spec['selector'])).length === 0
  const policy = spec['ipFamilyPolicy'] ?? (isOpen ? 'RequireDualStack' : 'SingleStack')
  const ipFamilies = isOpen && policy !== 'SingleStack' ? ['IPv4', 'IPv6'] : ['IPv4']
  return { ipFamilies: spec['ipFamilies'] ?? ipFamilies, ipFamilyPolicy: policy }
}

/** The fields of both, without those that are not set. */
function withKnown(former: Readonly<Record<string, JsonValue | undefined>>, given: JsonObject): JsonObject {
  const known = Object.entries(former).filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
  return { ...Object.fromEntries(known), ...given }
}

function freeAddress(target: WriteTarget): string {
  const taken = takenAddresses(target)
  return CLUSTER_ADDRESSES.find((address) => !taken.has(address)) ?? ''
}

function takenAddresses({ peers, previous }: WriteTarget): Set<string> {
  const others = peers().filter(({ metadata }) => metadata.uid !== previous?.metadata.uid)
  return new Set(others.flatMap((each) => asStrings(asJsonObject(each['spec'])['clusterIPs'])))
}

function validateService(service: KubeObject, target: WriteTarget): FieldCause[] {
  const spec = asJsonObject(service['spec'])
  const type = asString(spec['type']) ?? ''
  const ports = asJsonObjects(spec['ports'])
  return [
    ...(ports.length === 0 && spec['clusterIP'] !== HEADLESS && type !== 'ExternalName'
      ? [requiredValue('spec.ports')]
      : []),
    ...(type === 'ExternalName' ? validateExternalName(spec) : validateClusterAddress(spec, target)),
    ...ports.flatMap((port, index) => validatePort(port, { index, ports })),
    ...validateSelector(asJsonObject(spec['selector'])),
    ...(TYPES.includes(type) ? [] : [unsupportedValue('spec.type', type, TYPES)]),
  ]
}

function validateExternalName(spec: JsonObject): FieldCause[] {
  const causes = ['clusterIPs', 'ipFamilies', 'ipFamilyPolicy']
    .filter((field) => spec[field] !== undefined)
    .map((field) => forbiddenValue(`spec.${field}`, 'may not be set for ExternalName services'))
  const name = (asString(spec['externalName']) ?? '').replace(/\.$/, '')
  if (name === '') return [...causes, requiredValue('spec.externalName')]
  return [...causes, ...nameErrors('dns-subdomain', name).map((why) => invalidValue('spec.externalName', name, why))]
}

function validateClusterAddress(spec: JsonObject, target: WriteTarget): FieldCause[] {
  const addresses = asStrings(spec['clusterIPs'])
  const before = asJsonObject(target.previous?.['spec'])
  const [former] = asStrings(before['clusterIPs'])
  if (former !== undefined && former !== addresses[0]) {
    return [invalidValue('spec.clusterIPs[0]', addresses, 'may not change once set')]
  }
  if (addresses[0] !== spec['clusterIP']) {
    return [invalidValue('spec.clusterIPs', addresses, 'first value must match `clusterIP`')]
  }
  const [address = ''] = addresses
  if (address === HEADLESS) return []
  const errors = ipErrors('spec.clusterIPs[0]', address)
  if (errors.length > 0) return errors
  const why = allocationError(address, target)
  return why === undefined
    ? []
    : [invalidValue('spec.clusterIPs', addresses, `failed to allocate IP ${address}: ${why}`)]
}

function allocationError(address: string, target: WriteTarget): string | undefined {
  if (!isIPv4(address) || (!CLUSTER_ADDRESSES.includes(address) && address !== '10.0.0.1')) {
    return 'the provided network does not match the current range'
  }
  return takenAddresses(target).has(address) || address === '10.0.0.1' ? 'provided IP is already allocated' : undefined
}

function validatePort(port: JsonObject, { index, ports }: PortPlace): FieldCause[] {
  const path = `spec.ports[${index}]`
  const before = ports.slice(0, index)
  const { protocol = '', targetPort } = port
  const number = Number(port['port'] ?? 0)
  const isTwice = before.some((other) => other['protocol'] === protocol && Number(other['port'] ?? 0) === number)
  return [
    ...validatePortName(asString(port['name']) ?? '', `${path}.name`, { index, ports }),
    ...portErrors(`${path}.port`, number),
    ...(PORT_PROTOCOLS.includes(asString(protocol) ?? '')
      ? []
      : [unsupportedValue(`${path}.protocol`, protocol, PORT_PROTOCOLS)]),
    ...(typeof targetPort === 'number' ? portErrors(`${path}.targetPort`, targetPort) : []),
    ...(isTwice ? [duplicateValue(path, { protocol, port: number })] : []),
  ]
}

interface PortPlace {
  readonly index: number
  readonly ports: readonly JsonObject[]
}

function validatePortName(name: string, field: string, { index, ports }: PortPlace): FieldCause[] {
  if (name === '') return ports.length > 1 ? [requiredValue(field)] : []
  const isTwice = ports.slice(0, index).some((other) => other['name'] === name)
  return [
    ...nameErrors('dns-label', name).map((why) => invalidValue(field, name, why)),
    ...(isTwice ? [duplicateValue(field, name)] : []),
  ]
}

function portErrors(field: string, port: number): FieldCause[] {
  return port >= 1 && port <= 65_535 ? [] : [invalidValue(field, port, 'must be between 1 and 65535, inclusive')]
}

function validateSelector(selector: JsonObject): FieldCause[] {
  return Object.entries(selector).flatMap(([key, content]) => [
    ...labelKeyErrors(key).map((why) => invalidValue('spec.selector', key, why)),
    ...labelValueErrors(String(content)).map((why) => invalidValue('spec.selector', content, why)),
  ])
}

/** Services. */
export const serviceResource: ResourceDefinition = defineResource({
  group: '',
  version: 'v1',
  resource: 'services',
  kind: 'Service',
  shortNames: ['svc'],
  categories: ['all'],
  nameRule: 'dns-label',
  subresources: ['status'],
  createsOnUpdate: true,
  returnsDeleted: true,
  schema: kindSchema('Service', {
    spec: serviceSpec,
    status: openObject('ServiceStatus', { conditions: listBy(['type'], anything) }),
  }),
  withDefaults: completeService,
  prepare: prepareService,
  validate: validateService,
})
