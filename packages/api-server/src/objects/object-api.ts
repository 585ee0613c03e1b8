/**
 * What the API server does with the objects of authorized requests: metadata, defaults, validation, optimistic concurrency,
 * deletion with finalizers. Synchronous, like the store.
 *
 * Owns no state. Objects go in and come out in their stored form.
 */
import type { Clock } from '@tenure/core'
import type { Random } from '@tenure/core/internal'
import { alreadyExists, ApiStatusError, invalid, notFound } from './api-status.ts'
import { changedMetadata, isSame, versionOf, withGeneration, withManagedFields } from './changed-object.ts'
import type { JsonValue } from './json-value.ts'
import type { KubeObject, ObjectMeta } from './kube-object.ts'
import { validateChangedMetadata, validateNewMetadata } from './metadata-validation.ts'
import { assertNamespaceTakes, lacksNamespace } from './namespace-lifecycle.ts'
import { formatTime } from './kube-time.ts'
import { ObjectDeletion } from './object-deletion.ts'
import {
  apiVersionOf,
  refOf,
  subjectOf,
  type ResourceDefinition,
  type WriteTarget,
} from '../resources/resource-definition.ts'
import type { ObjectRequest } from './object-request.ts'
import { readObject } from './read-object.ts'
import { namespaceResource } from '../resources/core-resources.ts'
import type { ObjectRef, Store } from '../storage/store.ts'
import { assertIdentity, assertNamespaceMatches, assertUid, assertVersion } from './write-preconditions.ts'
import { ignoredFields, trackUpdate, type FieldWriter } from '../patches/managed-fields.ts'

/** The parts of an {@link ObjectApi}. */
export interface ObjectApiParts {
  readonly store: Store
  readonly clock: Clock
  readonly random: Random
  /** Generates the `uid` of a new object. */
  readonly createUid: () => string
  /** Whether a write into a missing namespace creates the namespace. @default false */
  readonly autoProvisionNamespaces?: boolean
}

/** The result of a write. */
export interface WriteOutcome {
  readonly object: KubeObject
  readonly created: boolean
}

/** Computes the next state of an object from its current state. */
export interface ObjectChange {
  /** Whether the write creates a missing object. */
  readonly mayCreate: boolean
  /** `previous` is `undefined` for a missing object. */
  readonly make: (previous: KubeObject | undefined) => KubeObject
}

/** Reads and writes objects with the rules of the API server. */
export class ObjectApi {
  readonly deletion: ObjectDeletion
  readonly #parts: ObjectApiParts

  constructor(parts: ObjectApiParts) {
    this.#parts = parts
    this.deletion = new ObjectDeletion(parts.store, parts.clock)
  }

  /** The stored object. @throws ApiStatusError 404 */
  get(definition: ResourceDefinition, namespace: string, name: string): KubeObject {
    const object = this.#parts.store.get(refOf(definition, namespace, name))
    if (object === undefined) throw notFound(subjectOf(definition, name))
    return object
  }

  /** POST. */
  create(request: ObjectRequest, body: JsonValue): KubeObject {
    const read = readObject(body, request.definition, request)
    const ref = refOf(request.definition, request.namespace, read.metadata.name ?? '')
    this.#assertNamespace(request, ref)
    if (read.metadata.resourceVersion !== undefined && read.metadata.resourceVersion !== '0') {
      throw new ApiStatusError(500, '', 'resourceVersion should not be set on objects to be created')
    }
    const { managedFields: _managedFields, ...metadata } = read.metadata
    return this.#create(request, this.#tracked(request, { ...read, metadata }, undefined))
  }

  /** PUT. */
  update(request: ObjectRequest, body: JsonValue): WriteOutcome {
    const next = readObject(body, request.definition, request)
    const mayCreate = request.definition.createsOnUpdate && request.subresource === ''
    return this.change(request, { mayCreate, make: (previous) => this.#tracked(request, next, previous) })
  }

  /** Any write based on the stored object. The change itself sets `managedFields`. */
  change(request: ObjectRequest, change: ObjectChange): WriteOutcome {
    const { definition } = request
    const ref = refOf(definition, request.namespace, request.name)
    const previous = this.#parts.store.get(ref)
    if (previous === undefined && !change.mayCreate) throw notFound(subjectOf(definition, request.name))
    const next = change.make(previous)
    assertIdentity(next.metadata, request)
    assertUid(next, previous, ref, definition)
    if (previous === undefined) {
      this.#assertNamespace(request, ref)
      return { object: this.#create(request, next), created: true }
    }
    assertVersion(next, previous, definition)
    return { object: this.#replace(request, next, previous), created: false }
  }

  /** The writer to record in `managedFields`. */
  writerOf(request: ObjectRequest, operation: FieldWriter['operation']): FieldWriter {
    return {
      manager: request.manager,
      operation,
      apiVersion: apiVersionOf(request.definition),
      subresource: request.subresource,
      time: formatTime(this.#parts.clock.wallTime()),
    }
  }

  /** PATCH, except server-side apply. */
  patch(request: ObjectRequest, make: (previous: KubeObject) => KubeObject): WriteOutcome {
    const change = (previous: KubeObject | undefined): KubeObject => {
      if (previous === undefined) throw notFound(subjectOf(request.definition, request.name))
      return this.#tracked(request, make(previous), previous)
    }
    return this.change(request, { mayCreate: false, make: change })
  }

  #tracked(request: ObjectRequest, next: KubeObject, previous: KubeObject | undefined): KubeObject {
    const { definition, subresource } = request
    const states = {
      before: previous === undefined ? undefined : definition.fromStored(previous),
      after: definition.fromStored(next),
      schema: definition.schema,
    }
    const ignored = ignoredFields(definition.subresources.includes('status'), subresource)
    const managedFields = trackUpdate(states, this.writerOf(request, 'Update'), ignored)
    const { managedFields: _managedFields, ...metadata } = next.metadata
    return { ...next, metadata: { ...metadata, ...withManagedFields(managedFields) } }
  }

  #create(request: ObjectRequest, given: KubeObject): KubeObject {
    const { definition } = request
    const { store } = this.#parts
    assertNamespaceMatches(given.metadata, request)
    const named = this.#named(given.metadata, request)
    const target = { previous: undefined, subresource: '', peers: this.#peersOf(definition) }
    const object = definition.prepare({ ...given, metadata: this.#newMetadata(named, request) }, target)
    const causes = [...validateNewMetadata(definition, object.metadata), ...definition.validate(object, target)]
    const name = object.metadata.name ?? ''
    if (causes.length > 0) throw invalid(subjectOf(definition, name), causes)
    const ref = refOf(definition, request.namespace, name)
    if (store.get(ref) !== undefined) throw alreadyExists(subjectOf(definition, name))
    return request.dryRun ? object : store.create(ref, object)
  }

  #peersOf({ collection }: ResourceDefinition): WriteTarget['peers'] {
    return () => this.#parts.store.list(collection)
  }

  #assertNamespace(request: ObjectRequest, ref: ObjectRef): void {
    const { store, autoProvisionNamespaces = false } = this.#parts
    if (autoProvisionNamespaces && lacksNamespace(store, request.definition, ref)) {
      const namespace = { ...request, definition: namespaceResource, namespace: '', name: '', subresource: '' }
      this.create(namespace, { metadata: { name: ref.namespace } })
      if (request.dryRun) return
    }
    assertNamespaceTakes(store, request.definition, ref)
  }

  #named(metadata: ObjectMeta, request: ObjectRequest): ObjectMeta {
    const { generateName } = metadata
    if (metadata.name !== undefined || generateName === undefined) return metadata
    const { store, random } = this.#parts
    for (let attempt = 0; ; attempt += 1) {
      const name = generateNameFrom(generateName, random)
      const isTaken = store.get(refOf(request.definition, request.namespace, name)) !== undefined
      if (!isTaken || attempt === MAX_NAME_ATTEMPTS) return { ...metadata, name }
    }
  }

  #newMetadata(given: ObjectMeta, { definition, namespace }: ObjectRequest): ObjectMeta {
    const {
      resourceVersion: _resourceVersion,
      deletionTimestamp: _deletionTimestamp,
      deletionGracePeriodSeconds: _deletionGracePeriodSeconds,
      selfLink: _selfLink,
      managedFields,
      generation: _generation,
      namespace: _namespace,
      ...kept
    } = given
    return {
      ...kept,
      ...withManagedFields(managedFields),
      ...(definition.namespaced ? { namespace } : {}),
      uid: this.#parts.createUid(),
      creationTimestamp: formatTime(this.#parts.clock.wallTime()),
      ...(definition.countsGenerations ? { generation: 1 } : {}),
    }
  }

  #replace(request: ObjectRequest, given: KubeObject, previous: KubeObject): KubeObject {
    const { definition, subresource } = request
    const target = { previous, subresource, peers: this.#peersOf(definition) }
    const metadata = changedMetadata(given.metadata, previous.metadata, subresource)
    const prepared = definition.prepare({ ...given, metadata }, target)
    const next = withGeneration(prepared, previous, definition)
    const causes = [...validateChangedMetadata(next, previous), ...definition.validate(next, target)]
    if (causes.length > 0) throw invalid(subjectOf(definition, request.name), causes)
    const ref = refOf(definition, request.namespace, request.name)
    if (this.deletion.isComplete(ref, next)) {
      if (!request.dryRun) this.deletion.finish(ref)
      return next
    }
    if (request.dryRun || isSame(next, previous))
      return { ...next, metadata: { ...next.metadata, ...versionOf(previous) } }
    return this.#parts.store.update(ref, next, previous.metadata.resourceVersion)
  }
}

const MAX_NAME_ATTEMPTS = 8
const NAME_ALPHABET = 'bcdfghjklmnpqrstvwxz2456789'
const MAX_GENERATED_PREFIX = 58

function generateNameFrom(prefix: string, random: Random): string {
  const suffix = Array.from({ length: 5 }, () => NAME_ALPHABET[Math.floor(random() * NAME_ALPHABET.length)])
  return prefix.slice(0, MAX_GENERATED_PREFIX) + suffix.join('')
}
