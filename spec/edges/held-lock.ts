import type { LeaseRecord } from '../../packages/core/src/lock/lease-record.ts'
import type {
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from '../../packages/core/src/lock/lock.ts'

/** A request that waits until the walk decides what becomes of it. */
export interface HeldRequest {
  readonly sentAt: number
  /** Undefined for a read. */
  readonly write: { readonly base: PresentLease | undefined; readonly record: LeaseRecord } | undefined
  readonly resolve: (snapshot: LockSnapshot) => void
  readonly reject: (error: unknown) => void
  isOpen: boolean
}

/** A lock on a lease in memory whose requests, answers and reports wait for the walk. */
export class HeldLock implements Lock {
  readonly description = 'held memory lease'
  readonly #lock: Lock
  readonly #now: () => number
  readonly #sent: (request: HeldRequest) => void
  observer: LockObserver | undefined

  constructor(lock: Lock, now: () => number, sent: (request: HeldRequest) => void) {
    this.#lock = lock
    this.#now = now
    this.#sent = sent
  }

  get(options: LockRequestOptions): Promise<LockSnapshot> {
    return this.#hold(undefined, options)
  }

  create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    return this.#hold({ base: undefined, record }, options) as Promise<PresentLease>
  }

  update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    return this.#hold({ base, record }, options) as Promise<PresentLease>
  }

  watch(observer: LockObserver): LockWatch {
    this.observer = observer
    return { close: async () => void (this.observer = undefined) }
  }

  async close(): Promise<void> {
    await this.#lock.close()
  }

  /** Lets a request take effect on the stored lease. @throws LockRequestError as the lock under it does. */
  async perform({ write }: HeldRequest): Promise<LockSnapshot> {
    const { signal } = new AbortController()
    if (write === undefined) return await this.#lock.get({ signal })
    const { base, record } = write
    return await (base === undefined
      ? this.#lock.create(record, { signal })
      : this.#lock.update(base, record, { signal }))
  }

  #hold(write: HeldRequest['write'], { signal }: LockRequestOptions): Promise<LockSnapshot> {
    const { promise, resolve, reject } = Promise.withResolvers<LockSnapshot>()
    const request: HeldRequest = { sentAt: this.#now(), write, resolve, reject, isOpen: true }
    signal.addEventListener('abort', () => (request.isOpen = false), { once: true })
    this.#sent(request)
    return promise
  }
}
