import type { FieldCause, StatusSubject } from '../objects/api-status.ts'
import type { AuthenticatedUser } from '../access/authentication.ts'
import type { Attributes } from '../access/attributes.ts'
import { decodeObject, type Decoded } from '../objects/decode-object.ts'
import type { JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { ObjectSchema } from './object-schema.ts'
import type { TableColumn } from '../tables/table-column.ts'
import type { ObjectRef } from '../storage/store.ts'

/** The rules that a name has to follow. */
export type NameRule = 'dns-subdomain' | 'dns-label' | 'dns-1035-label' | 'path-segment' | 'config-map-key'

/** How a write relates to what is stored. */
export interface WriteTarget {
  /** The stored object; `undefined` for a creation. */
  readonly previous: KubeObject | undefined
  /** Empty for the object itself. */
  readonly subresource: string
}

/** What a review can ask. */
export interface Reviewer {
  /** Who asks. */
  readonly user: AuthenticatedUser
  readonly isAllowed: (attributes: Attributes) => boolean
  /** The rules that hold for the sender in a namespace. */
  readonly rulesIn: (namespace: string) => readonly JsonObject[]
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
  /** The columns of tables. @default those of the built-in kind; name and creation where there are none */
  readonly columns?: readonly TableColumn[]
  /** The schema of a custom resource as its definition gives it. */
  readonly openApiSchema?: JsonObject
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
  /** A custom resource: items of lists repeat their type, and there is no strategic merge patch. */
  readonly isCustom: boolean
  /** What a warning tells users of the resource. @default no warning */
  readonly deprecation?: string
  /** Only POST, and nothing is stored. */
  readonly isReview: boolean
  /** The field selectors beyond `metadata.name` and `metadata.namespace`: label to path. */
  readonly fieldSelectors: Readonly<Record<string, string>>
  /** Reads a body: drops what the kind does not have. @throws DecodeError */
  readonly decode: (body: JsonObject) => Decoded
  /** Answers a review. */
  readonly review: (object: KubeObject, reviewer: Reviewer) => KubeObject
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
    isCustom: false,
    isReview: false,
    decode: (body) => decodeObject(body, given.schema),
    review: (object) => object,
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
