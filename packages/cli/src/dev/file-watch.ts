import { type FSWatcher, readdirSync, statSync, watch } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { OptionsError } from '@tenure/core'
import { textOf, type Timer } from '@tenure/core/internal'
import type { Terminal } from '../terminal.ts'

/** An editor writes several files for one change. */
const QUIET_MS = 100

/** What to watch. */
export interface FileWatchOptions {
  /** Files, and folders with their subfolders. */
  readonly paths: readonly string[]
  /** Files that change without a reason to restart. What begins with one of these is left out, too. */
  readonly ignored: readonly string[]
  /** Called with the path of a file that changed, when no other has changed for a moment. */
  readonly onChange: (path: string) => void
}

/** Watches files until it is disposed. Leaves out `node_modules`, and what begins with a dot or ends with `~`. */
export class FileWatch implements Disposable {
  readonly #options: FileWatchOptions
  readonly #clock: Terminal['clock']
  readonly #watchers = new Map<string, FSWatcher>()
  #timer: Timer | undefined

  /** @throws OptionsError for a path that does not exist, or cannot be watched */
  constructor(options: FileWatchOptions, { clock }: Pick<Terminal, 'clock'>) {
    this.#options = options
    this.#clock = clock
    for (const path of options.paths) this.#begin(resolve(path))
  }

  [Symbol.dispose](): void {
    this.#timer?.cancel()
    for (const watcher of this.#watchers.values()) watcher.close()
    this.#watchers.clear()
  }

  #begin(path: string): void {
    try {
      if (statSync(path).isDirectory()) this.#watchFolder(path)
      // A watch of the file itself would end when an editor replaces the file.
      else this.#watch(dirname(path), (name) => name === basename(path))
    } catch (cause) {
      this[Symbol.dispose]()
      throw new OptionsError(`Could not watch ${path}: ${textOf(cause)}`, { cause })
    }
  }

  #watchFolder(folder: string): void {
    if (this.#watchers.has(folder)) return
    this.#watch(folder, (name) => {
      if (!isWatched(name)) return false
      const path = join(folder, name)
      if (isFolder(path)) this.#watchFolder(path)
      return true
    })
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory() && isWatched(entry.name)) this.#watchFolder(join(folder, entry.name))
  }

  #watch(folder: string, isMeant: (name: string) => boolean): void {
    const watcher = watch(folder, (_event, name) => {
      if (name === null || !isMeant(name)) return
      const path = join(folder, name)
      if (this.#options.ignored.some((ignored) => path.startsWith(ignored))) return
      this.#timer?.cancel()
      this.#timer = this.#clock.setTimer(QUIET_MS, () => this.#options.onChange(path))
    })
    // The folder was removed.
    watcher.on('error', () => watcher.close())
    watcher.on('close', () => this.#watchers.delete(folder))
    this.#watchers.set(folder, watcher)
  }
}

function isWatched(name: string): boolean {
  return !name.startsWith('.') && !name.endsWith('~') && name !== 'node_modules'
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
