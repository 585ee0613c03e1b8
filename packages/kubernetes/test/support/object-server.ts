import type { Clock } from '@tenure/core'
import type { ApiRequest, ApiTarget } from '../../src/client/api-request.ts'
import { objectPath, type ObjectReference } from '../../src/client/resource.ts'
import { statusError } from '../../src/client/status-error.ts'
import { type JsonObject, objectAt } from '../../src/json-object.ts'
import type { LeaseClient } from '../../src/locks/lease/lease-client.ts'
import type { WatchSubscriptionOptions } from '../../src/reflector/watch-subscription.ts'

/** A watch that a client has opened. */
interface OpenWatch extends Omit<WatchSubscriptionOptions, 'name'> {
  readonly reference: ObjectReference
}

/** An API server that stores objects, and answers at once unless the test says otherwise. A watch shows what the test says. */
export class ObjectServer {
  readonly requests: ApiRequest[] = []
  readonly watches: OpenWatch[] = []
  /** Called before each request takes effect. It may throw, or return a promise to wait for. */
  onRequest: (request: ApiRequest) => unknown = () => undefined
  /** The answer of a request, in place of what the server would send. */
  onAnswer: (request: ApiRequest, answer: unknown) => unknown = (_, answer) => answer
  readonly client: LeaseClient
  readonly #objects = new Map<string, JsonObject>()
  readonly #clock: Clock
  #version = 0

  constructor(clock: Clock) {
    this.#clock = clock
    const client = {
      transport: { send: (request: ApiRequest) => this.#send(request) },
      watch: (reference: ObjectReference, options: Omit<WatchSubscriptionOptions, 'name'>) => {
        const watch = { ...options, reference }
        this.watches.push(watch)
        return { close: async () => void this.watches.splice(this.watches.indexOf(watch), 1) }
      },
      close: async () => {},
    }
    this.client = client as unknown as LeaseClient
  }

  /** Stores an object as somebody else would, with a new version. */
  put(reference: ObjectReference, object: JsonObject): JsonObject {
    return this.#put(objectPath(reference), object)
  }

  get(reference: ObjectReference): JsonObject | undefined {
    return this.#objects.get(objectPath(reference))
  }

  remove(reference: ObjectReference): void {
    this.#version += 1
    this.#objects.delete(objectPath(reference))
  }

  /** Shows an object as it is to those that watch it. */
  show(reference: ObjectReference): void {
    const path = objectPath(reference)
    const object = this.#objects.get(path)
    for (const { reference: watched, observer } of this.watches)
      if (objectPath(watched) === path)
        observer.changed(
          object === undefined
            ? { kind: 'absent', version: BigInt(this.#version) }
            : { kind: 'present', version: BigInt(versionOf(object)), object },
        )
  }

  /** What was requested since the last call: method and path, in order. */
  taken(): readonly string[] {
    return this.requests.splice(0).map(({ method, path }) => `${method} ${path.split('/').slice(-2).join('/')}`)
  }

  async #send(request: ApiRequest): Promise<unknown> {
    this.requests.push(request)
    await this.onRequest(request)
    return this.onAnswer(request, structuredClone(this.#answer(request)))
  }

  #answer({ method, path, query, body, target }: ApiRequest): unknown {
    if (query?.['dryRun'] !== undefined) return body
    if (target.verb === 'list')
      return { items: [...this.#objects].filter(([key]) => key.startsWith(`${path}/`)).map(([, object]) => object) }
    const content = (body ?? {}) as JsonObject
    const key = method === 'POST' ? `${path}/${String(objectAt(content, 'metadata')['name'])}` : path
    const stored = this.#objects.get(key)
    if (method === 'POST' ? stored !== undefined : stored === undefined)
      throw refusalOf(target, method === 'POST' ? 'AlreadyExists' : 'NotFound')
    if (method === 'GET') return stored
    const resourceVersion = objectAt(content, method === 'DELETE' ? 'preconditions' : 'metadata')['resourceVersion']
    if (stored !== undefined && resourceVersion !== undefined && resourceVersion !== versionOf(stored))
      throw refusalOf(target, 'Conflict')
    if (method !== 'DELETE') return this.#put(key, method === 'PATCH' ? merged(stored ?? {}, content) : content)
    this.#objects.delete(key)
    this.#version += 1
    return {}
  }

  #put(path: string, object: JsonObject): JsonObject {
    this.#version += 1
    const metadata = objectAt(this.#objects.get(path) ?? {}, 'metadata')
    const created = `${new Date(this.#clock.wallTime()).toISOString().slice(0, 19)}Z`
    const stored = {
      ...object,
      metadata: {
        uid: `uid-${this.#version}`,
        creationTimestamp: created,
        ...objectAt(object, 'metadata'),
        ...metadata,
        name: path.split('/').at(-1),
        resourceVersion: String(this.#version),
      },
    }
    this.#objects.set(path, stored)
    return stored
  }
}

const STATUS_CODES = {
  NotFound: 404,
  AlreadyExists: 409,
  Conflict: 409,
  Forbidden: 403,
  Invalid: 422,
  InternalError: 500,
}

/** The refusal of a request, with its reason. */
export function refusalOf(target: ApiTarget, reason: keyof typeof STATUS_CODES): Error {
  return statusError(target, { statusCode: STATUS_CODES[reason], headers: {}, body: { reason } })
}

function versionOf(object: JsonObject): string {
  return String(objectAt(object, 'metadata')['resourceVersion'])
}

/** A merge patch of the spec. */
function merged(stored: JsonObject, patch: JsonObject): JsonObject {
  return { ...stored, spec: { ...objectAt(stored, 'spec'), ...objectAt(patch, 'spec') } }
}
