import { type Clock, type HealthRegistry, type Logger, TenureError } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { parseDecimal } from '../client/object-metadata.ts'
import type { InformerOwner } from './informer-options.ts'

/** How long an informer with a listed collection may fail before its health check fails, in milliseconds. */
const STALE_AFTER_MS = 30_000

/** An informer has not seen its collection, or has been disconnected from it for too long. The cause says why. */
class InformerStaleError extends TenureError {
  override readonly code = 'INFORMER_STALE'
}

/**
 * Whether an informer sees its collection. Logs every change of that and of the cause, and registers a health check.
 *
 * Before the first list, the check fails at the first failure. After it, the check fails when failures have lasted 30 s: then the
 * objects are stale.
 */
export class InformerStatus {
  readonly #path: string
  readonly #clock: Clock
  readonly #logger: Logger
  readonly #unregister: () => void
  #isSynced = false
  #failure: { readonly error: Error; readonly since: number; readonly attempts: number } | undefined

  constructor(owner: InformerOwner, options: { readonly path: string; readonly name: string; readonly clock: Clock }) {
    this.#path = options.path
    this.#clock = options.clock
    this.#logger = owner.logger ?? silentLogger
    this.#unregister = registerCheck(owner.health, options.name, () => this.#assertSees())
  }

  /** A list or a watch failed. */
  failed(error: Error): void {
    const before = this.#failure
    this.#failure = { error, since: before?.since ?? this.#clock.now(), attempts: (before?.attempts ?? 0) + 1 }
    if (before?.error.message === error.message) return
    const fields = { event: 'informer-down', path: this.#path, err: error }
    this.#logger.warn(fields, `informer ${this.#path} failed and is retrying: ${error.message}`)
  }

  /** The collection was listed. */
  listed(): void {
    this.#isSynced = true
  }

  /** A watch of the collection has lasted for a second. */
  recovered(): void {
    const before = this.#failure
    this.#failure = undefined
    if (before === undefined) return
    const { attempts, since } = before
    const fields = { event: 'informer-up', path: this.#path, attempts, downMs: Math.round(this.#clock.now() - since) }
    this.#logger.info(fields, `informer ${this.#path} works again`)
  }

  /** The cache cannot show that it is new enough, so the collection is listed again. `version` is that of the last list. */
  listsAgain(version: string): void {
    const fields = { event: 'informer-lists-again', path: this.#path }
    const what = `informer ${this.#path} lists again after the handover`
    if (parseDecimal(version) !== undefined)
      this.#logger.debug(fields, `${what}: not all versions that earlier terms wrote are known`)
    // As those of an aggregated API may be. Every handover after a write then costs a list.
    else this.#logger.info(fields, `${what}: its resource versions, such as \`${version}\`, are no decimal numbers`)
  }

  /** Removes the health check. */
  end(): void {
    this.#unregister()
  }

  #assertSees(): void {
    if (this.#failure === undefined) return
    const { error, since, attempts } = this.#failure
    const downMs = this.#clock.now() - since
    if (this.#isSynced && downMs < STALE_AFTER_MS) return
    const what = this.#isSynced ? `has not seen changes for ${Math.round(downMs / 1000)} s` : 'has not listed yet'
    throw new InformerStaleError(`Informer ${this.#path} ${what} (failed attempts: ${attempts}): ${error.message}`, {
      cause: error,
    })
  }
}

/** Registers as `name`, or as `name-2` and so on if several informers follow one collection. */
function registerCheck(health: HealthRegistry | undefined, name: string, check: () => void): () => void {
  if (health === undefined) return () => {}
  let free = name
  for (let count = 2; health.names.includes(free); count += 1) free = `${name}-${count}`
  return health.register(free, check)
}
