import type { Clock } from '@tenure/core'
import type { Random } from '@tenure/core/internal'
import { ApiRequestError } from '../client/api-request-error.ts'
import type { Connection } from '../client/connection.ts'
import { withDeadline } from '../client/deadline.ts'
import { parseVersion } from '../client/object-metadata.ts'
import { createObject, updateObject } from '../client/object-requests.ts'
import type { ObjectReference } from '../client/resource.ts'
import { isJsonObject } from '../json-object.ts'
import { CollectionWatch } from '../reflector/collection-watch.ts'
import type { ObservedObject } from '../reflector/observed-object.ts'
import { checkService } from './service-check.ts'
import type { SliceEndpoint } from './slice-endpoint.ts'
import { readSlice, sliceBody, type SliceSource, SLICES, type StoredSlice } from './slice-object.ts'

const REQUEST_TIMEOUT_MS = 3000

/** Options of {@link SliceStore}. */
export interface SliceStoreOptions {
  readonly source: SliceSource
  readonly connection: Connection
  readonly clock: Clock
  readonly random: Random
  /** The slice was seen. */
  readonly onSeen: () => void
  /** The slice can be watched. */
  readonly onUp: () => void
  readonly onDown: (cause: Error) => void
}

/** What is to be in the slice. */
export interface SliceWrite {
  readonly entries: readonly SliceEndpoint[]
  /** Whether the ports stay as they are. */
  readonly keepsPorts: boolean
}

/** One EndpointSlice in the API server: watches it, and writes it. Owns the watch. Does not own the connection. */
export class SliceStore {
  readonly #options: SliceStoreOptions
  readonly #watch: CollectionWatch
  readonly #reference: ObjectReference
  readonly #closing = new AbortController()
  #isSeen = false
  #slice: StoredSlice | undefined
  #version = 0n
  #serviceUid: string | undefined

  constructor(options: SliceStoreOptions) {
    const { clock, random, connection, source } = options
    this.#options = options
    this.#reference = { ...SLICES, namespace: source.namespace, name: source.name }
    this.#watch = new CollectionWatch({
      connection,
      clock,
      random,
      selection: this.#reference,
      silenceMs: REQUEST_TIMEOUT_MS,
      observer: {
        // A list is right even if it is older: the store was restored then.
        listed: (objects, version) => this.#see(objects.get(source.name) ?? { kind: 'absent', version }, 'list'),
        changed: (_, seen) => this.#see(seen, 'event'),
        up: () => options.onUp(),
        down: (cause) => options.onDown(cause),
      },
    })
  }

  /** Whether the slice was seen, or its absence. */
  get isSeen(): boolean {
    return this.#isSeen
  }

  /** The slice as last seen; undefined if there is none. */
  get slice(): StoredSlice | undefined {
    return this.#slice
  }

  /** The uid of the Service; undefined before it was checked. */
  get serviceUid(): string | undefined {
    return this.#serviceUid
  }

  /** Aborts when this is closed. */
  get signal(): AbortSignal {
    return this.#closing.signal
  }

  /** Follows the slice until this is closed. */
  watch(): Promise<void> {
    return this.#watch.run(this.#closing.signal)
  }

  /** Reads the Service. @throws EndpointsRefusedError if it may not have the slice. @throws ApiRequestError */
  async checkService(): Promise<void> {
    const { connection, source } = this.#options
    this.#serviceUid = await this.#bounded((signal) => checkService(connection, source, signal))
  }

  /** Writes the version that was seen last. @throws ApiRequestError */
  async write({ entries, keepsPorts }: SliceWrite): Promise<void> {
    const { connection, source } = this.#options
    // Another replica may create it meanwhile: the entries are not for that one.
    const stored = this.#slice
    // A Service that was deleted and created again has another uid, and took the slice with it.
    if (stored === undefined) await this.checkService()
    const body = sliceBody(source, { stored, entries, serviceUid: this.#serviceUid ?? '', keepsPorts })
    const request = stored === undefined ? createObject : updateObject
    const answer = await this.#bounded((signal) => connection.send(request(this.#reference, body, signal)))
    const version = parseVersion(answer)
    if (version === undefined || !isJsonObject(answer)) return
    this.#see({ kind: 'present', version, object: answer }, 'event')
    this.#watch.expect(version)
  }

  /** Reads the slice. After a conflict, or an answer that was lost, the watch may be late. @throws ApiRequestError */
  async readAgain(): Promise<void> {
    const listing = await this.#watch.read(this.#closing.signal)
    const seen = listing.only(() => true).get(this.#reference.name)
    this.#see(seen ?? listing.absent, 'event')
  }

  /** Ends the watch and the requests. */
  close(): void {
    this.#closing.abort()
  }

  #bounded<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock } = this.#options
    return withDeadline({ clock, timeoutMs: REQUEST_TIMEOUT_MS, signal: this.#closing.signal }, run)
  }

  #see(seen: ObservedObject, by: 'list' | 'event'): void {
    if (by === 'event' && this.#isSeen && seen.version <= this.#version) return
    this.#isSeen = true
    this.#version = seen.version
    this.#slice = seen.kind === 'present' ? readSlice(seen.object, this.#options.source) : undefined
    this.#options.onSeen()
  }
}

/** Whether the write lost against another one, so that the slice must be read again. */
export function isConflict(error: unknown, isCreation: boolean): boolean {
  const failure = error instanceof ApiRequestError ? error.failure : undefined
  return failure === 'conflict' || (failure === 'not-found' && !isCreation)
}
