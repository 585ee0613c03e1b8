import type { FieldCause } from '../objects/api-status.ts'
import { forbiddenValue, invalidValue, tooLongValue } from '../objects/field-causes.ts'
import { asJsonObject, equalJson, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema, objectReference } from './metadata-schema.ts'
import {
  atomicMap,
  anything,
  list,
  listBy,
  map,
  object,
  openObject,
  pointer,
  value,
  type ObjectSchema,
} from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'
import { configMapKeyErrors } from '../objects/name-rules.ts'

const CORE = { group: '', version: 'v1' } as const
const MAX_DATA_BYTES = 1024 * 1024

const condition = openObject('Condition', { type: pointer('string') })

/** The label of every namespace that holds its name. */
const NAMESPACE_NAME_LABEL = 'kubernetes.io/metadata.name'

function labelNamespace(namespace: KubeObject): KubeObject {
  const { metadata } = namespace
  const { name } = metadata
  if (name === undefined) return namespace
  return { ...namespace, metadata: { ...metadata, labels: { ...metadata.labels, [NAMESPACE_NAME_LABEL]: name } } }
}

function prepareNamespace(namespace: KubeObject, target: WriteTarget): KubeObject {
  const previous = target.previous
  const spec = previous === undefined ? { finalizers: ['kubernetes'] } : (previous['spec'] ?? {})
  const status = previous === undefined ? { phase: 'Active' } : (previous['status'] ?? {})
  return {
    ...labelNamespace(namespace),
    spec: target.subresource === 'finalize' ? asJsonObject(namespace['spec']) : spec,
    status: target.subresource === 'status' ? asJsonObject(namespace['status']) : status,
  }
}

function validateConfigMap(configMap: KubeObject, target: WriteTarget): FieldCause[] {
  const data = asJsonObject(configMap['data'])
  const binaryData = asJsonObject(configMap['binaryData'])
  const causes = [...validateKeys('data', data), ...validateKeys('binaryData', binaryData)]
  for (const key of Object.keys(data)) {
    if (Object.hasOwn(binaryData, key)) {
      causes.push(invalidValue(`data[${key}]`, key, 'duplicate of key present in binaryData'))
    }
  }
  const size = [...Object.values(data), ...Object.values(binaryData)].reduce<number>(
    (sum, content) => sum + Buffer.byteLength(String(content)),
    0,
  )
  if (size > MAX_DATA_BYTES) causes.push(tooLongValue('[]', MAX_DATA_BYTES))
  return [...causes, ...validateImmutable(configMap, target)]
}

function validateSecret(secret: KubeObject, target: WriteTarget): FieldCause[] {
  const causes = validateKeys('data', asJsonObject(secret['data']))
  const previous = target.previous
  if (previous !== undefined && !equalJson(previous['type'], secret['type'])) {
    causes.push(invalidValue('type', secret['type'] ?? '', 'field is immutable'))
  }
  return [...causes, ...validateImmutable(secret, target)]
}

function validateKeys(field: string, data: Readonly<Record<string, unknown>>): FieldCause[] {
  return Object.keys(data).flatMap((key) =>
    configMapKeyErrors(key).map((why) => invalidValue(`${field}[${key}]`, key, why)),
  )
}

function validateImmutable(next: KubeObject, { previous }: WriteTarget): FieldCause[] {
  if (previous?.['immutable'] !== true) return []
  const why = 'field is immutable when `immutable` is set'
  const causes: FieldCause[] = []
  if (next['immutable'] !== true) causes.push(forbiddenValue('immutable', why))
  for (const field of ['data', 'binaryData']) {
    if (!equalJson(previous[field], next[field])) causes.push(forbiddenValue(field, why))
  }
  return causes
}

/** Clients may send `stringData`; it is stored as base64 in `data`. */
function encodeSecret(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret
  const encoded = Object.entries(asJsonObject(stringData)).map(([key, text]): [string, string] => [
    key,
    Buffer.from(String(text)).toString('base64'),
  ])
  const data = { ...asJsonObject(rest['data']), ...Object.fromEntries(encoded) }
  const type = rest['type'] ?? 'Opaque'
  return { ...rest, ...(Object.keys(data).length === 0 ? {} : { data }), type }
}

/** Writes of the object keep the stored status. Writes of the status keep everything else. */
export function keepStatusApart(initialStatus: () => JsonObject): ResourceDefinition['prepare'] {
  return (object: KubeObject, { previous, subresource }: WriteTarget): KubeObject => {
    if (previous === undefined) return { ...object, status: initialStatus() }
    if (subresource !== 'status') return { ...object, status: previous['status'] ?? {} }
    return { ...previous, metadata: object.metadata, status: object['status'] ?? {} }
  }
}

const container = openObject('Container', {
  name: pointer('string'),
  env: listBy(['name'], openObject('EnvVar', { name: pointer('string') })),
  ports: listBy(['containerPort', 'protocol'], openObject('ContainerPort', {})),
  volumeMounts: listBy(['mountPath'], openObject('VolumeMount', {})),
})

/** `PodSpec`: the lists that are merged by key. */
export const podSpec: ObjectSchema = openObject('PodSpec', {
  containers: listBy(['name'], container),
  initContainers: listBy(['name'], container),
  ephemeralContainers: listBy(['name'], container),
  volumes: listBy(['name'], openObject('Volume', {})),
  imagePullSecrets: listBy(['name'], openObject('LocalObjectReference', {})),
  tolerations: list(anything),
  nodeSelector: atomicMap(value('string')),
})

/** Namespaces. */
export const namespaceResource: ResourceDefinition = defineResource({
  ...CORE,
  resource: 'namespaces',
  kind: 'Namespace',
  shortNames: ['ns'],
  namespaced: false,
  nameRule: 'dns-label',
  subresources: ['status', 'finalize'],
  returnsDeleted: true,
  fieldSelectors: { 'status.phase': 'status.phase' },
  schema: kindSchema('Namespace', {
    spec: object('NamespaceSpec', { finalizers: list(value('string')) }),
    status: object('NamespaceStatus', { phase: value('string'), conditions: listBy(['type'], condition) }),
  }),
  withDefaults: labelNamespace,
  prepare: prepareNamespace,
})

/** The core group. Objects that need a scheduler, a node or a network are only stored. */
export const coreResources: readonly ResourceDefinition[] = [
  namespaceResource,
  defineResource({
    ...CORE,
    resource: 'configmaps',
    kind: 'ConfigMap',
    shortNames: ['cm'],
    schema: kindSchema('ConfigMap', {
      immutable: pointer('boolean'),
      data: map(value('string')),
      binaryData: map(value('bytes')),
    }),
    validate: validateConfigMap,
  }),
  defineResource({
    ...CORE,
    resource: 'secrets',
    kind: 'Secret',
    fieldSelectors: { type: 'type' },
    schema: kindSchema('Secret', {
      immutable: pointer('boolean'),
      data: map(value('bytes')),
      stringData: map(value('string')),
      type: value('string'),
    }),
    withDefaults: encodeSecret,
    validate: validateSecret,
  }),
  defineResource({
    ...CORE,
    resource: 'serviceaccounts',
    kind: 'ServiceAccount',
    shortNames: ['sa'],
    returnsDeleted: true,
    schema: kindSchema('ServiceAccount', {
      secrets: listBy(['name'], objectReference),
      imagePullSecrets: list(object('LocalObjectReference', { name: value('string') })),
      automountServiceAccountToken: pointer('boolean'),
    }),
  }),
  defineResource({
    ...CORE,
    resource: 'pods',
    kind: 'Pod',
    shortNames: ['po'],
    categories: ['all'],
    subresources: ['status'],
    countsGenerations: true,
    returnsDeleted: true,
    fieldSelectors: {
      'spec.nodeName': 'spec.nodeName',
      'status.phase': 'status.phase',
      'status.podIP': 'status.podIP',
    },
    schema: kindSchema('Pod', {
      spec: podSpec,
      status: openObject('PodStatus', { conditions: listBy(['type'], condition) }),
    }),
    prepare: keepStatusApart(() => ({ phase: 'Pending' })),
  }),
  defineResource({
    ...CORE,
    resource: 'resourcequotas',
    kind: 'ResourceQuota',
    shortNames: ['quota'],
    separateStatus: true,
    countsGenerations: false,
    schema: kindSchema('ResourceQuota', {
      spec: openObject('ResourceQuotaSpec', {}),
      status: openObject('ResourceQuotaStatus', {}),
    }),
    prepare: keepStatusApart(() => ({})),
  }),
  defineResource({
    ...CORE,
    resource: 'limitranges',
    kind: 'LimitRange',
    shortNames: ['limits'],
    schema: kindSchema('LimitRange', { spec: openObject('LimitRangeSpec', {}) }),
  }),
  defineResource({
    ...CORE,
    resource: 'endpoints',
    kind: 'Endpoints',
    deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
    singular: 'endpoints',
    listKind: 'EndpointsList',
    shortNames: ['ep'],
    createsOnUpdate: true,
    schema: kindSchema('Endpoints', { subsets: list(anything) }),
  }),
]
