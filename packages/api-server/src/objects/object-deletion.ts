import type { Clock } from '@tenure/core'
import { conflict, notFound } from './api-status.ts'
import { asJsonObject, asString, type JsonObject } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { formatTime } from './kube-time.ts'
import { advanceNamespaceDeletion, assertNamespaceMayGo } from './namespace-lifecycle.ts'
import { refOf, subjectOf, type ResourceDefinition } from '../resources/resource-definition.ts'
import type { ObjectRef, Store } from '../storage/store.ts'

/** A DELETE request. */
export interface DeleteRequest {
  readonly definition: ResourceDefinition
  readonly namespace: string
  readonly name: string
  readonly dryRun: boolean
  /** The body, `DeleteOptions`. The server honours its preconditions and never deletes dependents. */
  readonly options: JsonObject
}

/** The result of a DELETE request. */
export interface DeleteOutcome {
  /** The last state of the object, or its current state while it waits for finalizers. */
  readonly object: KubeObject
  /** Whether the object is removed. */
  readonly gone: boolean
}

/** Deletes objects immediately, or when their last finalizer is removed. */
export class ObjectDeletion {
  readonly #store: Store
  readonly #clock: Clock

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** DELETE of one object. @throws ApiStatusError 404, 409 if a precondition fails, 403 for a protected namespace */
  delete(request: DeleteRequest): DeleteOutcome {
    const { definition, name } = request
    const ref = refOf(definition, request.namespace, name)
    const object = this.#store.get(ref)
    if (object === undefined) throw notFound(subjectOf(definition, name))
    assertNamespaceMayGo(definition, name)
    assertPreconditions(object, request)
    const marked = this.#marked(ref, object)
    if (!waitsForFinalizers(ref, marked)) return { object: request.dryRun ? object : this.finish(ref), gone: true }
    if (request.dryRun || marked === object) return { object: marked, gone: false }
    const stored = this.#store.update(ref, marked, object.metadata.resourceVersion)
    if (ref.collection === 'namespaces') this.#advance(name)
    return { object: stored, gone: false }
  }

  /** Whether a write removed the last finalizer of a deleted object. */
  isComplete(ref: ObjectRef, next: KubeObject): boolean {
    return next.metadata.deletionTimestamp !== undefined && !waitsForFinalizers(ref, next)
  }

  /** Removes an object for good and returns its last stored state. */
  finish(ref: ObjectRef): KubeObject {
    const removed = this.#store.delete(ref)
    if (ref.namespace !== '') this.#advance(ref.namespace)
    return removed
  }

  #marked(ref: ObjectRef, object: KubeObject): KubeObject {
    if (object.metadata.deletionTimestamp !== undefined) return object
    const { generation } = object.metadata
    const metadata = {
      ...object.metadata,
      deletionTimestamp: formatTime(this.#clock.wallTime()),
      ...(generation === undefined ? {} : { generation: generation + 1 }),
    }
    if (ref.collection === 'namespaces') return { ...object, metadata, status: { phase: 'Terminating' } }
    return { ...object, metadata: { ...metadata, deletionGracePeriodSeconds: 0 } }
  }

  #advance(namespace: string): void {
    advanceNamespaceDeletion(this.#store, namespace, (ref) => this.#remove(ref))
  }

  #remove(ref: ObjectRef): void {
    const object = this.#store.get(ref)
    if (object === undefined) return
    const marked = this.#marked(ref, object)
    if (!waitsForFinalizers(ref, marked)) this.#store.delete(ref)
    else if (marked !== object) this.#store.update(ref, marked)
  }
}

function waitsForFinalizers(ref: ObjectRef, object: KubeObject): boolean {
  if ((object.metadata.finalizers ?? []).length > 0) return true
  const inSpec = asJsonObject(object['spec'])['finalizers']
  return ref.collection === 'namespaces' && Array.isArray(inSpec) && inSpec.length > 0
}

function assertPreconditions(object: KubeObject, { definition, name, options }: DeleteRequest): void {
  const preconditions = asJsonObject(options['preconditions'])
  const { uid = '', resourceVersion = '' } = object.metadata
  const wantedUid = asString(preconditions['uid']) ?? uid
  const wantedVersion = asString(preconditions['resourceVersion']) ?? resourceVersion
  // The real server names the kind where it should name the resource.
  const subject = { ...subjectOf(definition, name), resource: definition.kind }
  if (wantedUid !== uid) {
    const told = `the UID in the precondition (${wantedUid}) does not match the UID in record (${uid})`
    throw conflict(subject, `${told}. The object might have been deleted and then recreated`)
  }
  if (wantedVersion !== resourceVersion) {
    const versions = `(${wantedVersion}) does not match the ResourceVersion in record (${resourceVersion})`
    throw conflict(subject, `the ResourceVersion in the precondition ${versions}. The object might have been modified`)
  }
}
