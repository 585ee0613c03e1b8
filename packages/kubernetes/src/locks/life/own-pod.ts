import { LockRequestError } from '@tenure/core'
import { ApiRequestError } from '../../client/api-request-error.ts'
import { getObject } from '../../client/object-requests.ts'
import type { ObjectReference } from '../../client/resource.ts'
import { isJsonObject, type JsonObject, objectAt, stringAt } from '../../json-object.ts'
import type { LeaseClient } from '../lease/lease-client.ts'
import type { PodOwner } from './life-config-map.ts'

/** Where the Pod of this process is. */
export interface OwnPodOptions {
  readonly client: LeaseClient
  readonly name: string
  readonly namespace: string
  /** The uid that the downward API gave to this process. @default that of the Pod when it is read first */
  readonly uid: string | undefined
}

/** The Pod of this process. Its uid tells it from other Pods of its name. */
export class OwnPod {
  readonly #client: LeaseClient
  readonly #reference: ObjectReference
  #uid: string | undefined

  constructor({ client, name, namespace, uid }: OwnPodOptions) {
    this.#client = client
    this.#reference = { group: '', version: 'v1', resource: 'pods', name, namespace }
    this.#uid = uid
  }

  /** The name. */
  get name(): string {
    return this.#reference.name
  }

  /** The uid; undefined until it is known. */
  get uid(): string | undefined {
    return this.#uid
  }

  /** The Pod as an owner. Only after {@link find}. */
  get known(): PodOwner {
    const { name } = this.#reference
    if (this.#uid === undefined) throw new Error(`Expected the Pod ${name} to be read before it becomes an owner`)
    return { name, uid: this.#uid }
  }

  /** Reads the Pod if it is not known yet. @throws LockRequestError if that fails, or there is no such Pod */
  async find(signal: AbortSignal): Promise<void> {
    if (this.#uid === undefined) await this.read(signal)
  }

  /**
   * Reads the Pod before this process acquires the lease. @throws LockRequestError like {@link read}, or if the Pod terminates: others free
   * what it owns
   */
  async confirm(signal: AbortSignal): Promise<void> {
    const pod = await this.read(signal)
    if (stringAt(objectAt(pod, 'metadata'), 'deletionTimestamp') === undefined) return
    const { name, namespace } = this.#reference
    throw new LockRequestError('rejected', `Pod ${namespace}/${name}, in which this process runs, is being deleted`)
  }

  /**
   * Reads the Pod. @throws LockRequestError if that fails, or the Pod is gone: this process may have outlived it, and the garbage collector
   * would delete whatever it owns
   */
  async read(signal: AbortSignal): Promise<JsonObject> {
    const pod = await this.#client.transport.send(getObject(this.#reference, signal)).catch((error: unknown) => {
      throw error instanceof ApiRequestError && error.failure === 'not-found' ? this.#missing(error) : error
    })
    const object = isJsonObject(pod) ? pod : {}
    const uid = stringAt(objectAt(object, 'metadata'), 'uid')
    if (uid === undefined || uid !== (this.#uid ?? uid)) throw this.#missing(undefined)
    this.#uid = uid
    return object
  }

  #missing(cause: unknown): LockRequestError {
    const { name, namespace } = this.#reference
    return new LockRequestError(
      'rejected',
      `Could not find Pod ${namespace}/${name}, in which this process ran: a leader for life is a Pod, so this process cannot lead. ` +
        'Set POD_NAME and POD_NAMESPACE by the downward API; if the Pod was deleted by force, end this process',
      { cause },
    )
  }
}
