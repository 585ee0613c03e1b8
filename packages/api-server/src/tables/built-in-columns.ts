/** The columns of the built-in kinds, by collection. */
import { asJsonObject, asJsonObjects, asString, asStrings, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { ageOf } from './human-duration.ts'
import { ageColumn, column, nameColumn, numberAt, type TableColumn, textAt, wide } from './table-column.ts'

const NONE = '<none>'

const specOf = (object: KubeObject): JsonObject => asJsonObject(object['spec'])
const statusOf = (object: KubeObject): JsonObject => asJsonObject(object['status'])
const countOf = (field: string) => (object: KubeObject) => Object.keys(asJsonObject(object[field])).length
const orNone = (text: string): string => (text === '' ? NONE : text)
const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

/** The first three items of a list, and the number of the others. */
function firstThree(items: readonly string[]): string {
  if (items.length === 0) return NONE
  const shown = items.slice(0, 3).join(',')
  return items.length > 3 ? `${shown} + ${items.length - 3} more...` : shown
}

function labelsText(value: unknown): string {
  const labels = Object.entries(asJsonObject(value)).map(([key, text]) => `${key}=${textOf(text)}`)
  return orNone(labels.sort().join(','))
}

function endpointsText(object: KubeObject): string {
  const found = asJsonObjects(object['subsets']).flatMap((subset) => {
    const addresses = asJsonObjects(subset['addresses']).map(({ ip }) => textOf(ip))
    const ports = asJsonObjects(subset['ports'])
    return ports.length === 0 ? addresses : ports.flatMap(({ port }) => addresses.map((ip) => `${ip}:${textOf(port)}`))
  })
  return firstThree(found)
}

function portText({ port, nodePort, protocol }: JsonObject): string {
  const node = typeof nodePort === 'number' && nodePort > 0 ? `:${nodePort}` : ''
  return `${textOf(port)}${node}/${textOf(protocol)}`
}

function externalIp(service: KubeObject): string {
  const { type, externalIPs, externalName } = specOf(service)
  if (type === 'ExternalName') return textOf(externalName)
  const balancers = asJsonObjects(asJsonObject(statusOf(service)['loadBalancer'])['ingress'])
  const ips = [...balancers.map(({ ip, hostname }) => textOf(ip ?? hostname)), ...asStrings(externalIPs)]
  return ips.length > 0 ? ips.join(',') : type === 'LoadBalancer' ? '<pending>' : NONE
}

function subjectsOf(kind: string): TableColumn['cell'] {
  return (binding) =>
    asJsonObjects(binding['subjects'])
      .filter((subject) => subject['kind'] === kind)
      .map(({ name, namespace }) => (kind === 'ServiceAccount' ? `${textOf(namespace)}/${textOf(name)}` : textOf(name)))
      .join(', ')
}

const bindingColumns = [
  nameColumn,
  column('Role', (binding) => {
    const { kind, name } = asJsonObject(binding['roleRef'])
    return `${textOf(kind)}/${textOf(name)}`
  }),
  ageColumn,
  wide(column('Users', subjectsOf('User'))),
  wide(column('Groups', subjectsOf('Group'))),
  wide(column('ServiceAccounts', subjectsOf('ServiceAccount'))),
]

function podStatus(pod: KubeObject): string {
  const status = statusOf(pod)
  const waiting = asJsonObjects(status['containerStatuses']).map(({ state }) => {
    const { waiting: waits, terminated } = asJsonObject(state)
    return asString(asJsonObject(waits ?? terminated)['reason']) ?? ''
  })
  if (pod.metadata.deletionTimestamp !== undefined) return 'Terminating'
  return waiting.find((reason) => reason !== '') ?? textOf(status['reason'] ?? status['phase'])
}

function readyText(pod: KubeObject): string {
  const statuses = asJsonObjects(statusOf(pod)['containerStatuses'])
  const ready = statuses.filter(({ ready: isReady }) => isReady === true).length
  return `${ready}/${asJsonObjects(specOf(pod)['containers']).length}`
}

function restartsText(pod: KubeObject): string {
  const counts = asJsonObjects(statusOf(pod)['containerStatuses']).map(({ restartCount }) => Number(restartCount ?? 0))
  return String(counts.reduce((sum, count) => sum + count, 0))
}

function containersOf(field: 'name' | 'image'): TableColumn['cell'] {
  return (deployment) => {
    const { spec } = asJsonObject(specOf(deployment)['template'])
    return asJsonObjects(asJsonObject(spec)['containers'])
      .map((container) => textOf(container[field]))
      .join(',')
  }
}

function firstSeen(event: KubeObject, now: number): string {
  return ageOf(event['firstTimestamp'] ?? event['eventTime'], now)
}

function lastSeen(event: KubeObject, now: number): string {
  const { lastObservedTime } = asJsonObject(event['series'])
  const last = lastObservedTime ?? event['lastTimestamp']
  return typeof last === 'string' ? ageOf(last, now) : firstSeen(event, now)
}

function involved(event: KubeObject): string {
  const { kind, name } = asJsonObject(event['involvedObject'])
  const shown = textOf(kind).toLowerCase()
  return textOf(name) === '' ? shown : `${shown}/${textOf(name)}`
}

function eventSource(event: KubeObject): string {
  const { component, host } = asJsonObject(event['source'])
  const instance = textOf(host) || textOf(event['reportingInstance'])
  const reporter = textOf(component) || textOf(event['reportingComponent'])
  return instance === '' ? reporter : `${reporter}, ${instance}`
}

function limited(...path: string[]): TableColumn['cell'] {
  return (level) => {
    const start = specOf(level)['limited']
    const found = path.reduce<unknown>((value, field) => asJsonObject(value)[field], start)
    return typeof found === 'number' ? found : NONE
  }
}

function paramText(object: KubeObject): string {
  const { name, namespace } = asJsonObject(specOf(object)['paramRef'])
  if (textOf(name) === '') return '<unset>'
  return `${textOf(namespace) || '*'}/${textOf(name)}`
}

function paramKind(object: KubeObject): string {
  const kind = specOf(object)['paramKind']
  return kind === undefined
    ? '<unset>'
    : `${textOf(asJsonObject(kind)['apiVersion'])}/${textOf(asJsonObject(kind)['kind'])}`
}

/** Usage and limit of each resource in a quota. `prefix` selects requests or limits. This server does not count usage. */
function quotaText(prefix: '' | 'limits.'): TableColumn['cell'] {
  return (quota) => {
    const { hard, used } = statusOf(quota)
    const names = Object.keys(asJsonObject(hard)).filter((name) => name.startsWith('limits.') === (prefix !== ''))
    return names
      .sort()
      .map((name) => `${name}: ${textOf(asJsonObject(used)[name])}/${textOf(asJsonObject(hard)[name])}`)
      .join(', ')
  }
}

/** The columns of each kind with its own columns. */
export const builtInColumns: Readonly<Record<string, readonly TableColumn[]>> = {
  namespaces: [nameColumn, column('Status', textAt('status.phase')), ageColumn],
  configmaps: [
    nameColumn,
    column('Data', (object) => Number(countOf('data')(object)) + countOf('binaryData')(object)),
    ageColumn,
  ],
  secrets: [nameColumn, column('Type', textAt('type')), column('Data', countOf('data')), ageColumn],
  serviceaccounts: [nameColumn, ageColumn],
  pods: [
    nameColumn,
    column('Ready', readyText),
    column('Status', podStatus),
    column('Restarts', restartsText),
    ageColumn,
    wide(column('IP', textAt('status.podIP', NONE))),
    wide(column('Node', textAt('spec.nodeName', NONE))),
    wide(column('Nominated Node', textAt('status.nominatedNodeName', NONE))),
    wide(column('Readiness Gates', () => NONE)),
  ],
  services: [
    nameColumn,
    column('Type', textAt('spec.type')),
    column('Cluster-IP', textAt('spec.clusterIP', NONE)),
    column('External-IP', externalIp),
    column('Port(s)', (service) => orNone(asJsonObjects(specOf(service)['ports']).map(portText).join(','))),
    ageColumn,
    wide(column('Selector', (service) => labelsText(specOf(service)['selector']))),
  ],
  resourcequotas: [nameColumn, column('Request', quotaText('')), column('Limit', quotaText('limits.')), ageColumn],
  endpoints: [nameColumn, column('Endpoints', endpointsText), ageColumn],
  'discovery.k8s.io/endpointslices': [
    nameColumn,
    column('AddressType', textAt('addressType')),
    column('Ports', (slice) =>
      firstThree(asJsonObjects(slice['ports']).map(({ port, name }) => textOf(port ?? name ?? '*'))),
    ),
    column('Endpoints', (slice) =>
      firstThree(asJsonObjects(slice['endpoints']).flatMap((each) => asStrings(each['addresses']))),
    ),
    ageColumn,
  ],
  events: [
    column('Last Seen', lastSeen),
    column('Type', textAt('type')),
    column('Reason', textAt('reason')),
    column('Object', involved),
    wide(column('Subobject', textAt('involvedObject.fieldPath'))),
    wide(column('Source', eventSource)),
    column('Message', (event) => textOf(event['message']).trim()),
    wide(column('First Seen', firstSeen)),
    wide(column('Count', (event) => Number(asJsonObject(event['series'])['count'] ?? event['count'] ?? 1))),
    wide({ ...nameColumn, format: 'name' }),
  ],
  'coordination.k8s.io/leases': [nameColumn, column('Holder', textAt('spec.holderIdentity')), ageColumn],
  'coordination.k8s.io/leasecandidates': [
    nameColumn,
    column('LeaseName', textAt('spec.leaseName')),
    column('BinaryVersion', textAt('spec.binaryVersion')),
    column('EmulationVersion', textAt('spec.emulationVersion')),
    ageColumn,
  ],
  'rbac.authorization.k8s.io/rolebindings': bindingColumns,
  'rbac.authorization.k8s.io/clusterrolebindings': bindingColumns,
  'apps/deployments': [
    nameColumn,
    column(
      'Ready',
      (object) =>
        `${String(numberAt('status.readyReplicas')(object, 0))}/${String(numberAt('spec.replicas')(object, 0))}`,
    ),
    column('Up-to-date', numberAt('status.updatedReplicas')),
    column('Available', numberAt('status.availableReplicas')),
    ageColumn,
    wide(column('Containers', containersOf('name'))),
    wide(column('Images', containersOf('image'))),
    wide(column('Selector', (object) => labelsText(asJsonObject(specOf(object)['selector'])['matchLabels']))),
  ],
  'policy/poddisruptionbudgets': [
    nameColumn,
    column('Min Available', (budget) => textOf(specOf(budget)['minAvailable'] ?? 'N/A')),
    column('Max Unavailable', (budget) => textOf(specOf(budget)['maxUnavailable'] ?? 'N/A')),
    column('Allowed Disruptions', numberAt('status.disruptionsAllowed'), 'integer'),
    ageColumn,
  ],
  'flowcontrol.apiserver.k8s.io/flowschemas': [
    nameColumn,
    column('PriorityLevel', textAt('spec.priorityLevelConfiguration.name')),
    column('MatchingPrecedence', numberAt('spec.matchingPrecedence')),
    column('DistinguisherMethod', textAt('spec.distinguisherMethod.type', NONE)),
    ageColumn,
    column('MissingPL', (schema) => {
      const dangling = asJsonObjects(statusOf(schema)['conditions']).find(({ type }) => type === 'Dangling')
      return textOf(dangling?.['status'] ?? '?')
    }),
  ],
  'flowcontrol.apiserver.k8s.io/prioritylevelconfigurations': [
    nameColumn,
    column('Type', textAt('spec.type')),
    column('NominalConcurrencyShares', limited('nominalConcurrencyShares')),
    column('Queues', limited('limitResponse', 'queuing', 'queues')),
    column('HandSize', limited('limitResponse', 'queuing', 'handSize')),
    column('QueueLengthLimit', limited('limitResponse', 'queuing', 'queueLengthLimit')),
    ageColumn,
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicies': [
    nameColumn,
    column('Validations', (policy) => asJsonObjects(specOf(policy)['validations']).length, 'integer'),
    column('ParamKind', paramKind),
    ageColumn,
  ],
  'admissionregistration.k8s.io/validatingadmissionpolicybindings': [
    nameColumn,
    column('PolicyName', textAt('spec.policyName')),
    column('ParamRef', paramText),
    ageColumn,
  ],
}
