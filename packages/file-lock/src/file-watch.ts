import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { type Clock, type LockObserver, type LockSnapshot, type LockWatch } from '@tenure/core'
import { errorOf } from '@tenure/core/internal'

/** What a {@link FileWatch} needs. */
export interface FileWatchOptions {
  readonly path: string
  /** Reads the stored versions, oldest first, or one absent snapshot. */
  readonly read: () => Promise<readonly LockSnapshot[]>
  readonly observer: LockObserver
  readonly clock: Clock
  readonly pollMs: number
  readonly onClosed: () => void
}

/**
 * Follows a lease directory: reads it whenever the kernel reports a change in it, and at least every `pollMs`, because not every
 * file system reports changes and the number of watches is limited.
 *
 * Owns its watchers, one read at a time and one timer. Versions are reported in ascending order, and nothing after `close`.
 */
export class FileWatch implements LockWatch {
  readonly #options: FileWatchOptions
  #running: Promise<void> = Promise.resolve()
  #parent: FSWatcher | undefined
  #directory: { readonly watcher: FSWatcher; readonly inode: bigint } | undefined
  #last: LockSnapshot | undefined
  #connection: 'new' | 'up' | 'down' = 'new'
  #isClosed = false
  #hasNews = false
  #wake: () => void = () => {}

  private constructor(options: FileWatchOptions) {
    this.#options = options
  }

  /** Starts to follow. The observer is not called before this returns. */
  static start(options: FileWatchOptions): FileWatch {
    const watch = new FileWatch(options)
    watch.#running = watch.#run()
    return watch
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#wake()
    await this.#running
  }

  async #run(): Promise<void> {
    try {
      while (!this.#isClosed) {
        this.#hasNews = false
        await this.#listen()
        await this.#look()
        await this.#untilNews()
      }
    } finally {
      this.#parent?.close()
      this.#directory?.watcher.close()
      this.#options.onClosed()
    }
  }

  async #look(): Promise<void> {
    let snapshots: readonly LockSnapshot[]
    try {
      snapshots = await this.#options.read()
    } catch (error) {
      this.#down(errorOf(error))
      return
    }
    for (const snapshot of snapshots) {
      if (this.#isClosed) return
      if (!isNews(snapshot, this.#last)) continue
      this.#last = snapshot
      this.#options.observer.changed(snapshot)
    }
    this.#up()
  }

  #up(): void {
    if (this.#isClosed || this.#connection === 'up') return
    this.#connection = 'up'
    this.#options.observer.up()
  }

  #down(cause: Error): void {
    if (this.#isClosed || this.#connection === 'down') return
    this.#connection = 'down'
    this.#options.observer.down(cause)
  }

  async #untilNews(): Promise<void> {
    if (this.#hasNews || this.#isClosed) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const timer = this.#options.clock.setTimer(this.#options.pollMs, resolve)
    this.#wake = resolve
    await promise
    timer.cancel()
  }

  /** Watches the directory of the lease, and its parent, in which that directory is created and deleted. */
  async #listen(): Promise<void> {
    const { path } = this.#options
    this.#parent ??= this.#tryWatch(dirname(path), (name) => name === null || name === basename(path))
    const inode = await stat(path, { bigint: true }).then(
      ({ ino }) => ino,
      () => undefined,
    )
    if (inode === this.#directory?.inode) return
    this.#directory?.watcher.close()
    const watcher = inode === undefined || this.#isClosed ? undefined : this.#tryWatch(path, () => true)
    this.#directory = watcher === undefined || inode === undefined ? undefined : { watcher, inode }
  }

  /** Returns undefined if the kernel gives no watcher; polling then finds the changes. */
  #tryWatch(path: string, concerns: (name: string | null) => boolean): FSWatcher | undefined {
    try {
      const watcher = watch(path, (_event, name) => {
        if (concerns(name)) this.#notice()
      })
      return watcher.on('error', () => watcher.close())
    } catch {
      return undefined
    }
  }

  #notice(): void {
    this.#hasNews = true
    this.#wake()
  }
}

/** A lease that is still absent is not news, and neither is a version that was reported. */
function isNews(snapshot: LockSnapshot, last: LockSnapshot | undefined): boolean {
  if (last === undefined) return true
  if (snapshot.kind === 'absent') return last.kind === 'present'
  return snapshot.version > (last.version ?? 0n)
}
