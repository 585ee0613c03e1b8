import type { FieldCause, StatusSubject } from '../objects/api-status.ts'
import type { AuthenticatedUser } from '../access/authentication.ts'
import type { Attributes } from '../access/attributes.ts'
import { decodeObject, type Decoded } from '../objects/decode-object.ts'
import type { JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import type { ObjectSchema } from './object-schema.ts'
import type { TableColumn } from '../tables/table-column.ts'
import type { ObjectRef } from '../storage/store.ts'

/** The rule for the names of objects. */
export type NameRule = 'dns-subdomain' | 'dns-label' | 'path-segment' | 'config-map-key'

/** The stored object and the subresource of a write. */
export interface WriteTarget {
  /** The stored object; `undefined` for a creation. */
  readonly previous: KubeObject | undefined
  /** Empty for the object itself. */
  readonly subresource: string
  /** The stored objects of the same collection, in all namespaces. */
  readonly peers: () => readonly KubeObject[]
}

/** What a review can find out. */
export interface Reviewer {
  /** The user who sends the review. */
  readonly user: AuthenticatedUser
  readonly isAllowed: (attributes: Attributes) => boolean
  /** The rules of the sender in a namespace. */
  readonly rulesIn: (namespace: string) => readonly JsonObject[]
}

/** One served version of a resource. Definitions with the same `collection` are views of the same objects. */
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
  /** The columns of tables. @default those of the built-in kind, or name and creation time */
  readonly columns?: readonly TableColumn[]
  /** The schema in the definition of a custom resource. */
  readonly openApiSchema?: JsonObject
  readonly nameRule: NameRule
  /** Subresources that can be read and written, such as `status`. */
  readonly subresources: readonly string[]
  /** `status` is written through its subresource only, and `metadata.generation` counts the changes of the rest. */
  readonly separateStatus: boolean
  /** Whether the server counts `metadata.generation`. */
  readonly countsGenerations: boolean
  /** Whether a change of the labels counts as well. */
  readonly countsLabels: boolean
  /** Whether PUT creates a missing object. */
  readonly createsOnUpdate: boolean
  /** Whether PUT without a `resourceVersion` overwrites the stored object. */
  readonly allowsBlindUpdate: boolean
  /** Whether DELETE answers with the object instead of a `Status`. */
  readonly returnsDeleted: boolean
  /** Whether this is a custom resource: list items include their type, and strategic merge patch is not supported. */
  readonly isCustom: boolean
  /** The warning to clients that use the resource. @default no warning */
  readonly deprecation?: string
  /** Whether this is a review: only POST is allowed, and nothing is stored. */
  readonly isReview: boolean
  /** Field selectors besides `metadata.name` and `metadata.namespace`, each with its path in the object. */
  readonly fieldSelectors: Readonly<Record<string, string>>
  /** Reads a body and drops unknown fields. @throws DecodeError */
  readonly decode: (body: JsonObject) => Decoded
  /** Answers a review. */
  readonly review: (object: KubeObject, reviewer: Reviewer) => KubeObject
  /** Sets the defaults of the API, before field managers are recorded. Returns a new object. */
  readonly withDefaults: (object: KubeObject) => KubeObject
  /** Sets the fields of the server and restores the fields that this write must not change. Returns a new object. */
  readonly prepare: (object: KubeObject, target: WriteTarget) => KubeObject
  /** Validation specific to the kind. */
  readonly validate: (object: KubeObject, target: WriteTarget) => readonly FieldCause[]
  /** From the form that this version serves to the stored form. */
  readonly toStored: (object: KubeObject) => KubeObject
  /** From the stored form to the form that this version serves. */
  readonly fromStored: (object: KubeObject) => KubeObject
}

type Required = 'group' | 'version' | 'resource' | 'kind' | 'schema'

/** Completes a definition with defaults. */
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
    countsLabels: false,
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

/** The subject of errors about an object of this resource. */
export function subjectOf(definition: ResourceDefinition, name: string): StatusSubject {
  return { group: definition.group, resource: definition.resource, kind: definition.kind, name }
}

/** Where an object of this resource is stored. */
export function refOf(definition: ResourceDefinition, namespace: string, name: string): ObjectRef {
  return { collection: definition.collection, namespace: definition.namespaced ? namespace : '', name }
}
