import { isAbsolute } from 'node:path'
import {
  type Clock,
  type LeaseRecord,
  type Lock,
  type LockObserver,
  LockRequestError,
  type LockRequestOptions,
  type LockSnapshot,
  type LockWatch,
  OptionsError,
  type PresentLease,
} from '@tenure/core'
import { assertKnownKeys, systemClock } from '@tenure/core/internal'
import { resolveDurationMs } from '@tenure/core/internal'
import { FileWatch } from './file-watch.ts'
import { LeaseDirectory, type StoredVersion } from './lease-directory.ts'
import type { LeaseFile } from './lease-file.ts'

/** Options of a {@link FileLock}. */
export interface FileLockOptions {
  /**
   * Absolute path of the lease: a directory that the lock creates, in an existing directory that all replicas may write to. It
   * must be on a local file system with hard links. NFS, SMB and other network file systems do not work.
   */
  readonly path: string
  /** Interval of the reads that find changes which the kernel did not report, in milliseconds. @default 1000 */
  readonly pollMs?: number
  /** Times the polls; its wall clock gives a new lease its first version. @default the clock of this machine */
  readonly clock?: Clock
}

/**
 * Stores the lease in files, for replicas on one machine.
 *
 * Writes are atomic among all processes of the machine. A process that dies during a write blocks nobody: the write has either
 * happened or not. If a file cannot be read, every request fails with `rejected`, and the lease grants nothing. Versions grow by
 * one with each write. A deleted lease begins again at the microseconds of the wall clock. So versions also grow across deletion,
 * unless that clock is set back to before the lease was created while no replica runs.
 *
 * To delete a lease, rename its directory first: `mv janitor.lease gone && rm -r gone`.
 *
 * @example
 * ```ts
 * const lock = new FileLock({ path: '/var/lib/janitor/janitor.lease' })
 * ```
 */
export class FileLock implements Lock {
  readonly description: string
  readonly #directory: LeaseDirectory
  readonly #clock: Clock
  readonly #pollMs: number
  readonly #watches = new Set<FileWatch>()
  #seen = 0n
  #isClosed = false

  /** Does no I/O. @throws OptionsError when an option is malformed */
  constructor(options: FileLockOptions) {
    assertKnownKeys('the options of a FileLock', options, ['path', 'pollMs', 'clock'])
    if (typeof options.path !== 'string' || !isAbsolute(options.path) || /[\\/]$/.test(options.path)) {
      throw OptionsError.expected(`\`path\` to be an absolute path that names a directory to be made`, options.path)
    }
    this.#directory = new LeaseDirectory(options.path)
    this.#clock = options.clock ?? systemClock
    this.#pollMs = resolveDurationMs('pollMs', options.pollMs, { fallback: 1000 })
    this.description = `file lease ${options.path}`
  }

  async get({ signal }: LockRequestOptions): Promise<LockSnapshot> {
    this.#assertUsable(signal)
    const snapshots = await this.#read()
    this.#assertUsable(signal)
    return snapshots.at(-1) ?? { kind: 'absent' }
  }

  async create(record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    this.#assertUsable(signal)
    const wallTime = BigInt(Math.floor(this.#clock.wallTime())) * 1000n
    const afterSeen = this.#seen + 2n
    const version = wallTime > afterSeen ? wallTime : afterSeen
    return this.#written(await this.#directory.create(record, version, signal))
  }

  async update(base: PresentLease, record: LeaseRecord, { signal }: LockRequestOptions): Promise<PresentLease> {
    this.#assertUsable(signal)
    const file = base.native as LeaseFile | undefined
    if (file?.write === undefined) {
      throw new LockRequestError(
        'rejected',
        `Could not update ${this.description}: its base was not read from this kind of lock`,
      )
    }
    const stored = { version: base.version, file: { ...file, record: base.record } }
    return this.#written(await this.#directory.update(stored, record, signal))
  }

  watch(observer: LockObserver): LockWatch {
    this.#assertUsable()
    const watch = FileWatch.start({
      path: this.#directory.path,
      read: () => this.#read(),
      observer,
      clock: this.#clock,
      pollMs: this.#pollMs,
      onClosed: () => this.#watches.delete(watch),
    })
    this.#watches.add(watch)
    return watch
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all([...this.#watches].map((watch) => watch.close()))
  }

  /** An absent lease gets a version above all that were seen before the read began, so that a late report of it is recognized. */
  async #read(): Promise<readonly LockSnapshot[]> {
    const seen = this.#seen
    const stored = await this.#directory.read()
    if (stored.length === 0) return [{ kind: 'absent', version: seen === 0n ? 0n : seen + 1n }]
    return stored.map((version) => this.#written(version))
  }

  #written({ version, file }: StoredVersion): PresentLease {
    if (version > this.#seen) this.#seen = version
    return { kind: 'present', version, record: file.record, deleting: false, native: file }
  }

  #assertUsable(signal?: AbortSignal): void {
    if (!this.#isClosed && signal?.aborted !== true) return
    const why = this.#isClosed ? 'the lock is closed' : 'the request was aborted'
    throw new LockRequestError('unreachable', `Could not reach ${this.description}: ${why}`, { cause: signal?.reason })
  }
}
