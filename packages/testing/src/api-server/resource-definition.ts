import type { FieldCause, StatusSubject } from './api-status.ts'
import type { KubeObject } from './kube-object.ts'
import type { ObjectSchema } from './object-schema.ts'
import type { ObjectRef } from './store.ts'

/** The rules that a name has to follow. */
export type NameRule = 'dns-subdomain' | 'dns-label' | 'dns-1035-label' | 'path-segment' | 'config-map-key'

/** How a write relates to what is stored. */
export interface WriteTarget {
  /** The stored object; `undefined` for a creation. */
  readonly previous: KubeObject | undefined
  /** Empty for the object itself. */
  readonly subresource: string
}

/** One resource in one version, as the API serves it. Two definitions with one `collection` are two views of the same objects. */
export interface ResourceDefinition {
  readonly group: string
  readonly version: string
  /** The plural, as in paths. */
  readonly resource: string
  readonly singular: string
  readonly kind: string
  readonly listKind: string
  readonly shortNames: readonly string[]
  readonly categories: readonly string[]
  readonly namespaced: boolean
  /** Where the objects are stored. */
  readonly collection: string
  readonly schema: ObjectSchema
  readonly nameRule: NameRule
  /** Subresources that can be read and written, such as `status`. */
  readonly subresources: readonly string[]
  /** `status` is written through its subresource only, and `metadata.generation` counts the changes of the rest. */
  readonly separateStatus: boolean
  /** `metadata.generation` is kept. */
  readonly countsGenerations: boolean
  /** PUT creates what does not exist. */
  readonly createsOnUpdate: boolean
  /** PUT without a resourceVersion overwrites whatever is stored. */
  readonly allowsBlindUpdate: boolean
  /** DELETE answers with the object instead of a `Status`. */
  readonly returnsDeleted: boolean
  /** Items of a list repeat `kind` and `apiVersion`, as those of custom resources do. */
  readonly typedItems: boolean
  /** The field selectors beyond `metadata.name` and `metadata.namespace`: label to path. */
  readonly fieldSelectors: Readonly<Record<string, string>>
  /** Fills in what the API says when the client does not, before anybody is taken for the writer of it. Returns a new object. */
  readonly withDefaults: (object: KubeObject) => KubeObject
  /** Fills in what the server decides and takes back what this write may not change. Returns a new object. */
  readonly prepare: (object: KubeObject, target: WriteTarget) => KubeObject
  /** The kind's own validation. */
  readonly validate: (object: KubeObject, target: WriteTarget) => readonly FieldCause[]
  /** From the form that this version serves to the stored form. */
  readonly toStored: (object: KubeObject) => KubeObject
  /** From the stored form to the form that this version serves. */
  readonly fromStored: (object: KubeObject) => KubeObject
}

type Required = 'group' | 'version' | 'resource' | 'kind' | 'schema'

/** A definition with everything filled in that follows from the names. */
export function defineResource(
  given: Pick<ResourceDefinition, Required> & Partial<ResourceDefinition>,
): ResourceDefinition {
  return {
    singular: given.kind.toLowerCase(),
    listKind: `${given.kind}List`,
    shortNames: [],
    categories: [],
    namespaced: true,
    collection: given.group === '' ? given.resource : `${given.group}/${given.resource}`,
    nameRule: 'dns-subdomain',
    subresources: given.separateStatus === true ? ['status'] : [],
    separateStatus: false,
    countsGenerations: given.separateStatus === true,
    createsOnUpdate: false,
    allowsBlindUpdate: true,
    returnsDeleted: false,
    typedItems: false,
    fieldSelectors: {},
    withDefaults: (object) => object,
    prepare: (object) => object,
    validate: () => [],
    toStored: (object) => object,
    fromStored: (object) => object,
    ...given,
  }
}

/** `coordination.k8s.io/v1`, or `v1` for the core group. */
export function apiVersionOf(definition: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return definition.group === '' ? definition.version : `${definition.group}/${definition.version}`
}

/** What errors about an object of this resource name. */
export function subjectOf(definition: ResourceDefinition, name: string): StatusSubject {
  return { group: definition.group, resource: definition.resource, kind: definition.kind, name }
}

/** Where an object of this resource is stored. */
export function refOf(definition: ResourceDefinition, namespace: string, name: string): ObjectRef {
  return { collection: definition.collection, namespace: definition.namespaced ? namespace : '', name }
}
