import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type {
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from '../../src/lock/lock.ts'

/** A request that a test answers by hand. */
export interface ScriptedRequest {
  readonly kind: 'get' | 'create' | 'update'
  readonly base: PresentLease | undefined
  readonly record: LeaseRecord | undefined
  readonly signal: AbortSignal
  readonly resolve: (snapshot: LockSnapshot) => void
  readonly reject: (error: Error) => void
}

/** A lock whose requests wait for the test to answer them, unless they are aborted before. */
export class ScriptedLock implements Lock {
  readonly description = 'scripted lease'
  readonly requests: ScriptedRequest[] = []
  readonly observers: LockObserver[] = []
  watchesClosed = 0
  isClosed = false

  get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    return this.#ask('get', signal)
  }

  create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    return this.#write('create', signal, { record })
  }

  update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    return this.#write('update', signal, { base, record })
  }

  watch(observer: LockObserver): LockWatch {
    this.observers.push(observer)
    return {
      close: async () => {
        this.observers.splice(this.observers.indexOf(observer), 1)
        this.watchesClosed += 1
      },
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
  }

  /** Reports a lease to every watch. */
  show(snapshot: LockSnapshot): void {
    for (const observer of this.observers) observer.changed(snapshot)
  }

  /** The last request; there has to be one. */
  get last(): ScriptedRequest {
    const request = this.requests.at(-1)
    if (request === undefined) throw new Error('Nothing was requested')
    return request
  }

  /** Answers the last request, a write, as if it had been stored as `version`. */
  store(version: bigint): PresentLease {
    const { record, resolve } = this.last
    if (record === undefined) throw new Error('The last request was not a write')
    const lease: PresentLease = { kind: 'present', version, record, deleting: false }
    resolve(lease)
    return lease
  }

  async #write(
    kind: 'create' | 'update',
    signal: AbortSignal,
    write: { readonly base?: PresentLease; readonly record: LeaseRecord },
  ): Promise<PresentLease> {
    const answer = await this.#ask(kind, signal, write)
    if (answer.kind === 'absent') throw new Error('A write was answered with an absent lease')
    return answer
  }

  #ask(
    kind: ScriptedRequest['kind'],
    signal: AbortSignal,
    write: { readonly base?: PresentLease; readonly record?: LeaseRecord } = {},
  ): Promise<LockSnapshot> {
    const { promise, resolve, reject } = Promise.withResolvers<LockSnapshot>()
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    this.requests.push({ kind, base: write.base, record: write.record, signal, resolve, reject })
    return promise
  }
}
