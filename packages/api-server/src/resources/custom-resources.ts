import type { FieldCause } from '../objects/api-status.ts'
import { decodeObject, type Decoded } from '../objects/decode-object.ts'
import { invalidValue, requiredValue } from '../objects/field-causes.ts'
import {
  asJsonObject,
  asJsonObjects,
  asString,
  asStrings,
  isJsonObject,
  type JsonObject,
  valueAt,
} from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema, objectMeta } from './metadata-schema.ts'
import { openObject, type ObjectSchema } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'
import { ageOf } from '../tables/human-duration.ts'
import { ageColumn, nameColumn, type TableColumn } from '../tables/table-column.ts'
import type { Store } from '../storage/store.ts'
import { fillDefaults, prune, toMergeSchema, validateStructure } from './structural-schema.ts'

const CRD_COLLECTION = 'apiextensions.k8s.io/customresourcedefinitions'

/** `apiextensions.k8s.io`. */
export const customResourceDefinitions: ResourceDefinition = defineResource({
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
  kind: 'CustomResourceDefinition',
  shortNames: ['crd', 'crds'],
  namespaced: false,
  separateStatus: true,
  allowsBlindUpdate: false,
  schema: kindSchema('CustomResourceDefinition', {
    spec: openObject('CustomResourceDefinitionSpec', {}),
    status: openObject('CustomResourceDefinitionStatus', {}),
  }),
  withDefaults: completeNames,
  prepare: acceptNames,
  validate: validateDefinition,
})

function completeNames(definition: KubeObject): KubeObject {
  const spec = asJsonObject(definition['spec'])
  const names = asJsonObject(spec['names'])
  const kind = asString(names['kind']) ?? ''
  const completed = { singular: kind.toLowerCase(), listKind: `${kind}List`, ...names }
  return { ...definition, spec: { conversion: { strategy: 'None' }, ...spec, names: completed } }
}

/** Accepts the names at once. The resource is served before the write is answered. */
function acceptNames(definition: KubeObject, { previous, subresource }: WriteTarget): KubeObject {
  if (subresource === 'status' && previous !== undefined)
    return { ...previous, ...definition, spec: previous['spec'] ?? {} }
  const spec = asJsonObject(definition['spec'])
  const before = asJsonObject(previous?.['status'])
  const stored = asJsonObjects(spec['versions']).filter((version) => version['storage'] === true)
  const versions = stored.map((version) => asString(version['name']) ?? '')
  const since = { status: 'True', lastTransitionTime: definition.metadata.creationTimestamp ?? '' }
  const status = {
    conditions: before['conditions'] ?? [
      { type: 'NamesAccepted', ...since, reason: 'NoConflicts', message: 'no conflicts found' },
      {
        type: 'Established',
        ...since,
        reason: 'InitialNamesAccepted',
        message: 'the initial names have been accepted',
      },
    ],
    acceptedNames: asJsonObject(spec['names']),
    storedVersions: [...new Set([...asStrings(before['storedVersions']), ...versions])],
  }
  return { ...definition, status }
}

function validateDefinition(definition: KubeObject, { previous }: WriteTarget): FieldCause[] {
  const spec = asJsonObject(definition['spec'])
  const versions = asJsonObjects(spec['versions'])
  return [
    ...validateNames(definition),
    ...['group', 'scope'].filter((field) => spec[field] === undefined).map((field) => requiredValue(`spec.${field}`)),
    ...validateStorageVersion(versions),
    ...validateScopeChange(spec, previous),
    ...validateSchemas(versions),
  ]
}

function validateNames(definition: KubeObject): FieldCause[] {
  const { name = '' } = definition.metadata
  const { group, plural, names } = namesOf(definition)
  const missing = ['plural', 'kind'].filter((field) => (asString(names[field]) ?? '') === '')
  const causes = missing.map((field) => requiredValue(`spec.names.${field}`))
  if (name === `${plural}.${group}`) return causes
  return [invalidValue('metadata.name', name, 'must be spec.names.plural+"."+spec.group'), ...causes]
}

function validateStorageVersion(versions: readonly JsonObject[]): FieldCause[] {
  if (versions.filter((version) => version['storage'] === true).length === 1) return []
  return [invalidValue('spec.versions', [...versions], 'must have exactly one version marked as storage version')]
}

function validateScopeChange(spec: JsonObject, previous: KubeObject | undefined): FieldCause[] {
  const scope = asJsonObject(previous?.['spec'])['scope']
  if (scope === undefined || scope === spec['scope']) return []
  return [invalidValue('spec.scope', spec['scope'] ?? '', 'field is immutable')]
}

function validateSchemas(versions: readonly JsonObject[]): FieldCause[] {
  return versions.flatMap((version, index) => {
    const schema = asJsonObject(version['schema'])['openAPIV3Schema']
    if (isJsonObject(schema)) return []
    return [requiredValue(`spec.versions[${index}].schema.openAPIV3Schema`, 'schemas are required')]
  })
}

/** The served resources, to which definitions add theirs. */
interface ServedResources {
  add(definition: ResourceDefinition): void
  remove(collection: string): void
}

/** Serves the resources of all definitions in the store and follows changes until the returned function is called. */
export function serveCustomResources(store: Store, catalog: ServedResources): () => void {
  for (const definition of store.list(CRD_COLLECTION)) addTo(catalog, definition)
  return store.watch(CRD_COLLECTION, (event) => {
    const { collection } = namesOf(event.object)
    catalog.remove(collection)
    if (event.type !== 'DELETED') {
      addTo(catalog, event.object)
      return
    }
    for (const object of store.list(collection)) {
      const { namespace = '', name = '' } = object.metadata
      store.delete({ collection, namespace, name })
    }
  })
}

function addTo(catalog: ServedResources, definition: KubeObject): void {
  for (const version of asJsonObjects(asJsonObject(definition['spec'])['versions'])) {
    if (version['served'] === true) catalog.add(defineVersion(definition, version))
  }
}

function namesOf(definition: KubeObject): { group: string; plural: string; collection: string; names: JsonObject } {
  const spec = asJsonObject(definition['spec'])
  const names = asJsonObject(spec['names'])
  const group = asString(spec['group']) ?? ''
  const plural = asString(names['plural']) ?? ''
  return { group, plural, collection: `${group}/${plural}`, names }
}

function defineVersion(definition: KubeObject, version: JsonObject): ResourceDefinition {
  const { group, plural, collection, names } = namesOf(definition)
  const kind = asString(names['kind']) ?? ''
  const props = asJsonObject(asJsonObject(version['schema'])['openAPIV3Schema'])
  const hasStatus = asJsonObject(version['subresources'])['status'] !== undefined
  const apiVersion = `${group}/${asString(version['name']) ?? ''}`
  return defineResource({
    group,
    version: asString(version['name']) ?? '',
    resource: plural,
    singular: asString(names['singular']) ?? kind.toLowerCase(),
    kind,
    listKind: asString(names['listKind']) ?? `${kind}List`,
    shortNames: asStrings(names['shortNames']),
    categories: asStrings(names['categories']),
    namespaced: asJsonObject(definition['spec'])['scope'] === 'Namespaced',
    collection,
    schema: customSchema(kind, props),
    openApiSchema: props,
    columns: printerColumns(asJsonObjects(version['additionalPrinterColumns'])),
    separateStatus: hasStatus,
    countsGenerations: true,
    allowsBlindUpdate: false,
    isCustom: true,
    decode: (body) => decodeCustomObject(body, kind, props),
    withDefaults: (object) => fillDefaults(object, contentOnly(props)) as KubeObject,
    prepare: hasStatus ? keepStatusApart : (object) => object,
    validate: (object) => validateStructure(contentFields(object), contentOnly(props), '').sort(byField),
    fromStored: (object) => (object.apiVersion === apiVersion ? object : { ...object, apiVersion }),
  })
}

/** The printer columns of a version; name and age if it has none. */
function printerColumns(given: readonly JsonObject[]): readonly TableColumn[] {
  if (given.length === 0) return [nameColumn, { ...ageColumn, type: 'date' }]
  return [nameColumn, ...given.map(printerColumn)]
}

function printerColumn({ name, type, format, priority, jsonPath }: JsonObject): TableColumn {
  const path = (asString(jsonPath) ?? '').replace(/^\./, '')
  return {
    name: asString(name) ?? '',
    type: asString(type) ?? 'string',
    format: asString(format) ?? '',
    priority: Number(priority ?? 0),
    cell: (object, now) => {
      const found = valueAt(object, path) ?? null
      if (found === null) return null
      return type === 'date' ? ageOf(found, now) : type === 'string' ? String(found) : found
    },
  }
}

function customSchema(kind: string, props: JsonObject): ObjectSchema {
  const content = toMergeSchema(props)
  const fields = content.kind === 'object' ? content.fields : {}
  const open = content.kind === 'object' && content.open
  return {
    kind: 'object',
    name: kind,
    fields: { ...fields, metadata: objectMeta },
    open,
    atomic: false,
    isStruct: true,
  }
}

function byField(left: FieldCause, right: FieldCause): number {
  return left.field < right.field ? -1 : left.field > right.field ? 1 : 0
}

/** Removes type and metadata from a schema. They are the same for every kind. */
function contentOnly(props: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...properties } = asJsonObject(props['properties'])
  return { ...props, properties }
}

function contentFields(object: JsonObject): JsonObject {
  const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...content } = object
  return content
}

const typeAndMetadata = kindSchema('CustomResource', {})

function decodeCustomObject(body: JsonObject, kind: string, props: JsonObject): Decoded {
  const { apiVersion = '', metadata = {} } = body
  const typed = decodeObject({ apiVersion, kind, metadata }, typeAndMetadata)
  const unknownFields = [...typed.unknownFields]
  const content = asJsonObject(prune(contentFields(body), contentOnly(props), '', unknownFields))
  return { object: { ...typed.object, ...content }, unknownFields }
}

function keepStatusApart(object: KubeObject, { previous, subresource }: WriteTarget): KubeObject {
  const { status, ...content } = object as JsonObject
  const before = previous?.['status']
  if (subresource === 'status' && previous !== undefined) {
    return { ...previous, metadata: object.metadata, ...(status === undefined ? {} : { status }) }
  }
  return { ...content, ...(before === undefined ? {} : { status: before }) } as KubeObject
}
