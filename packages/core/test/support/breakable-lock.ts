import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { type LockFailure, LockRequestError } from '../../src/lock/lock-request-error.ts'
import type {
  Lock,
  LockObserver,
  LockRequestOptions,
  LockSnapshot,
  LockWatch,
  PresentLease,
} from '../../src/lock/lock.ts'

/** A lock whose requests fail while a test wants them to. Its watch goes on. */
export class BreakableLock implements Lock {
  readonly description: string
  failure: LockFailure | undefined
  isClosed = false
  readonly writes: LeaseRecord[] = []
  readonly #lock: Lock

  constructor(lock: Lock) {
    this.#lock = lock
    this.description = lock.description
  }

  async get(options: LockRequestOptions): Promise<LockSnapshot> {
    this.#assertWorks()
    return this.#lock.get(options)
  }

  async create(record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    this.#assertWorks()
    this.writes.push(record)
    return this.#lock.create(record, options)
  }

  async update(base: PresentLease, record: LeaseRecord, options: LockRequestOptions): Promise<PresentLease> {
    this.#assertWorks()
    this.writes.push(record)
    return this.#lock.update(base, record, options)
  }

  watch(observer: LockObserver): LockWatch {
    return this.#lock.watch(observer)
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.#lock.close()
  }

  #assertWorks(): void {
    if (this.failure !== undefined) throw new LockRequestError(this.failure, `broken: ${this.failure}`)
  }
}
