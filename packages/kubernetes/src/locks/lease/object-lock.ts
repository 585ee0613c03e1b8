import {
  LockRequestError,
  type LeaseRecord,
  type Lock,
  type LockObserver,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  type PresentLease,
} from '@tenure/core'
import { type Departure, type HolderObserver, type LeaseHolder, withoutHints } from '@tenure/core/internal'
import type { DeathProof } from '../death-proof.ts'
import { ApiRequestError } from '../../client/api-request-error.ts'
import type { ApiRequest } from '../../client/api-request.ts'
import { isJsonObject, type JsonObject } from '../../json-object.ts'
import { parseVersion } from '../../client/object-metadata.ts'
import { createObject, getObject, updateObject } from '../../client/object-requests.ts'
import type { ObjectReference, Resource } from '../../client/resource.ts'
import type { ObservedObject } from '../../reflector/observed-object.ts'
import { readableOnly } from '../../reflector/readable-only.ts'
import type { LeaseClient } from './lease-client.ts'
import { presentLease, updatedBody, type BodyBuilder, type LockMetadata } from './lease-object.ts'

/** How a record is kept in objects of one resource. */
export interface LockCodec {
  readonly resource: Resource
  /** The name of this kind of lock in logs and errors, for example `lease`. */
  readonly title: string
  /** Reads the record. @throws LockRequestError with failure `rejected` for an object that cannot be read: it grants nothing */
  readonly parse: (object: JsonObject) => LeaseRecord
  readonly body: BodyBuilder
}

/** Options of {@link ObjectLock}. */
export interface ObjectLockOptions extends LockMetadata {
  readonly codec: LockCodec
  readonly client: LeaseClient
  /** Whether the client belongs to this lock and is closed with it. */
  readonly ownsClient: boolean
  readonly silenceMs: number
  /** Proves the death of a holder; undefined for no proof. */
  readonly deathProof: DeathProof | undefined
  /** Tells whether this replica is about to be stopped; undefined if nothing can. */
  readonly departure?: Departure | undefined
}

/**
 * Stores the lease in an object of an API server.
 *
 * Writes are conditional on the resource version. Labels, annotations, owner references and fields that other clients put on
 * the object survive every write.
 */
export class ObjectLock implements Lock {
  readonly description: string
  readonly watchHolder?: NonNullable<Lock['watchHolder']>
  readonly #options: ObjectLockOptions
  readonly #reference: ObjectReference
  readonly #watches = new Set<LockWatch>()
  #closed = false

  /** Does no I/O. */
  constructor(options: ObjectLockOptions) {
    const { codec, name, namespace } = options
    this.#options = options
    this.#reference = { ...codec.resource, name, namespace }
    this.description = `${codec.title} ${namespace}/${name}`
    const { deathProof } = options
    if (deathProof === undefined) return
    this.watchHolder = (holder, observer) =>
      this.#own(deathProof.watchHolder(holder, this.holderObserver(holder, observer)))
  }

  get departure(): Departure | undefined {
    return this.#options.departure
  }

  get processRef(): string | undefined {
    return this.#options.deathProof?.processRef
  }

  /** The observer of a holder. A subclass may do more when the holder is dead. */
  protected holderObserver(_holder: LeaseHolder, observer: HolderObserver): HolderObserver {
    return observer
  }

  async get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    try {
      return this.#parse(await this.#send(getObject(this.#reference, signal)), 'rejected')
    } catch (error) {
      if (error instanceof ApiRequestError && error.failure === 'not-found') return { kind: 'absent' }
      throw error
    }
  }

  async create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const create = (content: LeaseRecord) =>
      this.#send(createObject(this.#reference, this.#options.codec.body({}, this.#options, content), signal))
    return this.#parse(await sendFitting(create, record), 'unknown-outcome')
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    const update = (content: LeaseRecord) => {
      const body = updatedBody(this.#options.codec.body, base, this.#options, content)
      if (body === undefined) throw this.#foreignBaseError()
      return this.#send(updateObject(this.#reference, body, signal))
    }
    return this.#parse(await sendFitting(update, record), 'unknown-outcome')
  }

  watch(observer: LockObserver): LockWatch {
    if (this.#closed) throw this.#closedError('watch')
    const { client, silenceMs } = this.#options
    const subscription = client.watch(this.#reference, {
      silenceMs,
      observer: readableOnly(observer, (seen) => this.#snapshot(seen)),
    })
    return this.#own(subscription)
  }

  async close(): Promise<void> {
    this.#closed = true
    const { client, ownsClient } = this.#options
    await Promise.all([...this.#watches].map((watch) => watch.close()))
    if (ownsClient) await client.close()
  }

  /** Closes a watch with the lock, unless it is closed before. */
  #own(running: LockWatch): LockWatch {
    let closing: Promise<void> | undefined
    const watch: LockWatch = {
      close: () => {
        this.#watches.delete(watch)
        return (closing ??= running.close())
      },
    }
    this.#watches.add(watch)
    return watch
  }

  async #send(request: ApiRequest): Promise<unknown> {
    if (this.#closed) throw this.#closedError(request.target.verb)
    return this.#options.client.transport.send(request)
  }

  #snapshot(seen: ObservedObject): LockSnapshot {
    const { parse } = this.#options.codec
    if (seen.kind === 'present') return presentLease(parse, seen.version, seen.object)
    const deleted = seen.deleted && readable(parse, seen.deleted)
    return { kind: 'absent', version: seen.version, ...(deleted && { deleted }) }
  }

  /** An answer without a version does not mean that the server refused the write. */
  #parse(answer: unknown, failure: 'rejected' | 'unknown-outcome'): PresentLease {
    const version = parseVersion(answer)
    if (version !== undefined && isJsonObject(answer)) return presentLease(this.#options.codec.parse, version, answer)
    throw new LockRequestError(
      failure,
      `Could not read ${this.description}: its resource version is not a decimal number`,
    )
  }

  #foreignBaseError(): LockRequestError {
    return new LockRequestError(
      'rejected',
      `Could not update ${this.description}: its base was not read from this kind of lock`,
    )
  }

  #closedError(verb: string): LockRequestError {
    return new LockRequestError('unreachable', `Could not ${verb} ${this.description}: the lock is closed`)
  }
}

/** Undefined for an object that cannot be read. */
function readable(parse: LockCodec['parse'], object: JsonObject): LeaseRecord | undefined {
  try {
    return parse(object)
  } catch {
    return undefined
  }
}

/**
 * Sends a record, and sends it again without its hints if the server finds it invalid (422). Other clients may have filled the
 * 256 KiB that an object has for annotations. Without the second request, such a lease could be neither acquired nor released.
 */
async function sendFitting(send: (record: LeaseRecord) => Promise<unknown>, record: LeaseRecord): Promise<unknown> {
  try {
    return await send(record)
  } catch (error) {
    const least = withoutHints(record)
    const isInvalid = error instanceof ApiRequestError && error.statusCode === 422
    if (!isInvalid || Object.keys(least.annotations).length === Object.keys(record.annotations).length) throw error
    return send(least)
  }
}
