import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AdminClient } from './admin-client.ts'
import { Journal } from './journal.ts'

/** The spec of a Lease, as the API serves it. */
export interface LeaseSpec {
  readonly holderIdentity?: string
  readonly leaseDurationSeconds?: number
  readonly acquireTime?: string
  readonly renewTime?: string
  readonly leaseTransitions?: number
  /** Of coordinated leader election. */
  readonly strategy?: string
}

/** A state of the lease, reported by the API server. */
export interface LeaseVersion {
  /** When the news arrived, on the monotonic clock of this machine, in nanoseconds. */
  readonly at: bigint
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: string
  readonly holder: string
  readonly spec: LeaseSpec
}

/** A state of the lease with its annotations, which electors do not compare. */
export interface AnnotatedVersion extends LeaseVersion {
  readonly annotations: Readonly<Record<string, string>>
}

interface WatchLine {
  readonly type: string
  readonly object: {
    readonly metadata: { readonly resourceVersion: string; readonly annotations?: Readonly<Record<string, string>> }
    readonly spec?: LeaseSpec
  }
}

/** The location of a lease. */
export interface LeasePlace {
  readonly namespace: string
  readonly name: string
}

const RECONNECT_AFTER_MS = 50

/** An independent watch of one lease. It keeps every state of the spec, which electors compare, with the time of its report. */
export class LeaseJournal extends Journal<LeaseVersion> {
  /** Every version, also those of which only the annotations differ. */
  readonly versions: Journal<AnnotatedVersion>
  readonly #admin: AdminClient
  readonly #path: string
  readonly #selector: string
  readonly #closing = new AbortController()
  #resumeAfter: string

  private constructor(admin: AdminClient, place: LeasePlace, from: string) {
    super(`the lease ${place.namespace}/${place.name}`)
    this.versions = new Journal(`the versions of the lease ${place.namespace}/${place.name}`)
    this.#admin = admin
    this.#path = leasesPath(place.namespace)
    this.#selector = `fieldSelector=metadata.name%3D${place.name}`
    this.#resumeAfter = from
  }

  /** Begins to follow a lease, which need not exist yet. */
  static async follow(admin: AdminClient, place: LeasePlace): Promise<LeaseJournal> {
    const list = (await admin.expect(leasesPath(place.namespace))) as { metadata: { resourceVersion: string } }
    const journal = new LeaseJournal(admin, place, list.metadata.resourceVersion)
    void journal.#run()
    return journal
  }

  /** The present state; undefined as long as the lease does not exist. */
  get last(): LeaseVersion | undefined {
    return this.entries.at(-1)
  }

  /** Waits for a state with this holder; the empty string means a lease that nobody holds. */
  heldBy(holder: string, wait?: { readonly from?: number; readonly timeoutMs?: number }): Promise<LeaseVersion> {
    const what = holder === '' ? 'a lease without holder' : `a lease held by ${holder}`
    return this.waitFor(what, (seen) => seen.type !== 'DELETED' && seen.holder === holder, wait)
  }

  /** Waits until the lease was changed `count` times more. */
  async changes(count: number): Promise<readonly LeaseVersion[]> {
    const from = this.length
    await this.waitFor(`${count} changes`, () => this.length >= from + count)
    return this.entries.slice(from)
  }

  close(): void {
    this.#closing.abort()
    this.end('it is not followed any more')
    this.versions.end('it is not followed any more')
  }

  async #run(): Promise<void> {
    while (!this.#closing.signal.aborted) {
      await this.#followOnce().catch(() => {})
      await sleep(RECONNECT_AFTER_MS)
    }
  }

  async #followOnce(): Promise<void> {
    const query = `watch=true&resourceVersion=${this.#resumeAfter}&${this.#selector}`
    const stream = await this.#admin.stream(`${this.#path}?${query}`)
    const onClose = () => stream.destroy()
    this.#closing.signal.addEventListener('abort', onClose, { once: true })
    try {
      for await (const line of createInterface(stream)) this.#take(JSON.parse(line), process.hrtime.bigint())
    } finally {
      this.#closing.signal.removeEventListener('abort', onClose)
    }
  }

  #take({ type, object }: WatchLine, at: bigint): void {
    // The history of a server that was started again begins later.
    if (type === 'ERROR') this.#resumeAfter = '0'
    if (type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') return
    const { metadata, spec = {} } = object
    this.#resumeAfter = metadata.resourceVersion
    const isCompared = type !== 'MODIFIED' || !isDeepStrictEqual(spec, this.last?.spec)
    const seen: LeaseVersion = { at, type, version: metadata.resourceVersion, holder: spec.holderIdentity ?? '', spec }
    if (isCompared) this.record(seen)
    this.versions.record({ ...seen, annotations: metadata.annotations ?? {} })
  }
}

/** The collection of the leases of a namespace. */
export function leasesPath(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
}
