import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { type LeaseRecord, LockRequestError } from '@tenure/core'
import { errorCode, perhapsWritten, unwritten } from './file-error.ts'
import { formatLeaseFile, type LeaseFile, nextLeaseFile, parseLeaseFile } from './lease-file.ts'

/** A version of the lease and its content. */
export interface StoredVersion {
  readonly version: bigint
  readonly file: LeaseFile
}

const VERSION_FILE = /^([1-9]\d{0,18})\.json$/
const LEFTOVER_AFTER_MS = 60_000
const TRIES_BEFORE_REST = 5
const MAX_TRIES = 25
/** Longer than the coarsest tick with which kernels record the time of a change. */
const REST_MS = 30

/**
 * A lease as a directory with one file for each version: `17.json` replaces `16.json`. The greatest number is the present state.
 *
 * There is no lock file that a dead process could leave behind: a single system call decides who wins.
 *
 * 1. A file is complete and on disk before it gets its name, and never changes after that.
 * 2. A lease is created by renaming a whole directory into place. Only one of many processes can.
 * 3. Version n + 1 is made by linking a complete file to that name. Only one of many processes can. That alone would admit a
 *    writer that slept until n + 1 was created and removed again. So files are removed in ascending order only, and a writer has
 *    won only if it still finds n, with the content that it read, *after* it made n + 1: nobody removes n + 1 before n.
 * 4. A reader trusts the greatest number only if that file names the write of the file before it, or if the directory did not
 *    change meanwhile. So a file that a late writer leaves behind never counts as the present state.
 *
 * Local file systems only: network file systems do not promise that these calls are atomic, or that other machines see them at
 * once.
 */
export class LeaseDirectory {
  readonly path: string

  constructor(path: string) {
    this.path = path
  }

  /** The stored versions, oldest first; the last one is the present state. Empty when there is no lease. */
  async read(): Promise<readonly StoredVersion[]> {
    try {
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        // Under constant writes the directory is never at rest, and only this read succeeds.
        const found = (await this.#readOnce()) ?? (tries < TRIES_BEFORE_REST ? undefined : await this.#readAtRest())
        if (found !== undefined) return found
      }
    } catch (error) {
      throw unwritten(`read ${this.path}`, error)
    }
    throw new LockRequestError('unreachable', `Could not read ${this.path}: it changes faster than it can be read`)
  }

  /** Creates the lease at `version`. @throws LockRequestError with failure `conflict` when it exists. */
  async create(record: LeaseRecord, version: bigint, signal: AbortSignal): Promise<StoredVersion> {
    const what = `create ${this.path}`
    const file = nextLeaseFile(randomUUID(), undefined, record)
    const staging = `${this.path}.${file.write}.tmp`
    try {
      if ((await this.read()).length > 0) throw this.#conflict('it exists')
      await mkdir(staging)
      await writeDurably(join(staging, `${version}.json`), formatLeaseFile(file))
      assertGoesOn(what, signal)
      await this.#moveIntoPlace(staging)
    } catch (error) {
      await rm(staging, { recursive: true, force: true }).catch(() => {})
      throw unwritten(what, error)
    }
    await makeDurable(dirname(this.path)).catch((error: unknown) => {
      throw perhapsWritten(what, error)
    })
    return { version, file }
  }

  /**
   * Makes the version after `base`. @throws LockRequestError with failure `conflict` when `base` is no longer the present state.
   */
  async update(base: StoredVersion, record: LeaseRecord, signal: AbortSignal): Promise<StoredVersion> {
    const what = `update ${this.path}`
    const current = (await this.read()).at(-1)
    if (current === undefined) throw new LockRequestError('not-found', `Could not ${what}: it does not exist`)
    if (!isSame(current, base))
      throw this.#conflict(
        `it has changed since version ${base.version} was read, and is at version ${current.version}`,
      )
    const next: StoredVersion = {
      version: base.version + 1n,
      file: nextLeaseFile(randomUUID(), current.file, record),
    }
    await this.#claim(next, signal)
    try {
      await this.#assertWon(base, next)
      await makeDurable(this.path)
    } catch (error) {
      throw error instanceof LockRequestError ? error : perhapsWritten(what, error)
    }
    await this.#removeBefore(base.version)
    return next
  }

  async #claim(next: StoredVersion, signal: AbortSignal): Promise<void> {
    const what = `update ${this.path}`
    const draft = join(this.path, `${next.file.write}.tmp`)
    try {
      await writeDurably(draft, formatLeaseFile(next.file))
      assertGoesOn(what, signal)
      await link(draft, this.#pathOf(next.version))
    } catch (error) {
      if (errorCode(error) === 'EEXIST') throw this.#conflict(`version ${next.version} exists`)
      throw unwritten(what, error)
    } finally {
      await rm(draft, { force: true }).catch(() => {})
    }
  }

  /** Rule 3. */
  async #assertWon(base: StoredVersion, next: StoredVersion): Promise<void> {
    if ((await this.#tryLoad(base.version))?.write === base.file.write) return
    const later = await this.#tryLoad(next.version + 1n)
    if (later?.base === next.file.write) return
    if (later !== undefined) throw this.#conflict(`version ${next.version} was written before`)
    throw perhapsWritten(`update ${this.path}`, 'it was changed again before the outcome could be seen')
  }

  async #readOnce(): Promise<readonly StoredVersion[] | undefined> {
    const listed = await this.#list()
    if (listed === undefined) return []
    const newest = await this.#tryLoadNewest(listed)
    if (newest === undefined) return undefined
    const before = await this.#tryLoadCredible(newest.version - 1n)
    if (newest.file.base === undefined) return [newest]
    if (before?.write !== newest.file.base) return undefined
    return [{ version: newest.version - 1n, file: before }, newest]
  }

  /** Trusts a listing during which no file was created or removed, whatever it shows. */
  async #readAtRest(): Promise<readonly StoredVersion[] | undefined> {
    const before = await this.#changedAt()
    await new Promise((resolve) => setTimeout(resolve, REST_MS))
    const listed = await this.#list()
    if (listed === undefined) return []
    if (before !== (await this.#changedAt())) return undefined
    if (listed.length === 0) return []
    const newest = await this.#tryLoadNewest(listed)
    return newest && [newest]
  }

  async #tryLoadNewest(listed: readonly bigint[]): Promise<StoredVersion | undefined> {
    const version = listed.at(-1)
    const file = version === undefined ? undefined : await this.#tryLoad(version)
    return version === undefined || file === undefined ? undefined : { version, file }
  }

  /** The version, unless it is gone. @throws LockRequestError with failure `rejected` when it cannot be read */
  async #tryLoad(version: bigint): Promise<LeaseFile | undefined> {
    try {
      return parseLeaseFile(this.#pathOf(version), await readFile(this.#pathOf(version), 'utf8'))
    } catch (error) {
      if (isGone(error)) return undefined
      throw error
    }
  }

  /** The version, unless it is gone or unreadable: the version after it is the one that counts. */
  async #tryLoadCredible(version: bigint): Promise<LeaseFile | undefined> {
    return this.#tryLoad(version).catch(() => undefined)
  }

  /** The versions in ascending order; undefined when the directory does not exist. */
  async #list(): Promise<bigint[] | undefined> {
    try {
      const names = await readdir(this.path)
      const versions = names.flatMap((name) => VERSION_FILE.exec(name)?.[1] ?? []).map(BigInt)
      return versions.sort((a, b) => (a < b ? -1 : 1))
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined
      throw error
    }
  }

  async #changedAt(): Promise<bigint | undefined> {
    try {
      return (await stat(this.path, { bigint: true })).mtimeNs
    } catch (error) {
      if (isGone(error)) return undefined
      throw error
    }
  }

  async #moveIntoPlace(staging: string): Promise<void> {
    try {
      await makeDurable(staging)
      await rename(staging, this.path)
    } catch (error) {
      if (errorCode(error) !== 'ENOTEMPTY' && errorCode(error) !== 'EEXIST') throw error
      if (((await this.#list()) ?? []).length > 0) throw this.#conflict('it exists')
      await this.#removeLeftovers(this.path, (name) => name.endsWith('.tmp'))
      const others = await readdir(this.path)
      throw new LockRequestError(
        others.some((name) => !name.endsWith('.tmp')) ? 'rejected' : 'unreachable',
        `Expected ${this.path} to hold nothing but versions of a lease, got \`${others.join('`, `')}\``,
        { cause: error },
      )
    }
    const prefix = `${basename(this.path)}.`
    await this.#removeLeftovers(dirname(this.path), (name) => name.startsWith(prefix) && name.endsWith('.tmp'))
  }

  /** Rule 3: ascending, and no further than the first that cannot be removed. */
  async #removeBefore(version: bigint): Promise<void> {
    try {
      for (const older of (await this.#list()) ?? []) {
        if (older >= version) break
        await unlink(this.#pathOf(older)).catch((error: unknown) => {
          if (!isGone(error)) throw error
        })
      }
      await this.#removeLeftovers(this.path, (name) => name.endsWith('.tmp'))
    } catch {
      // A file that is left only takes space. The next write tries again.
    }
  }

  /** Removes the drafts of processes that died during a write. Nobody reads them. */
  async #removeLeftovers(folder: string, isOurs: (name: string) => boolean): Promise<void> {
    for (const name of (await readdir(folder)).filter(isOurs)) {
      const path = join(folder, name)
      const changedAt = await stat(path).then(
        ({ mtimeMs }) => mtimeMs,
        () => undefined,
      )
      if (changedAt === undefined || Date.now() - changedAt < LEFTOVER_AFTER_MS) continue
      await rm(path, { recursive: true, force: true }).catch(() => {})
    }
  }

  #pathOf(version: bigint): string {
    return join(this.path, `${version}.json`)
  }

  #conflict(why: string): LockRequestError {
    return new LockRequestError('conflict', `Could not write ${this.path}: ${why}`)
  }
}

function isSame(a: StoredVersion, b: StoredVersion): boolean {
  return (
    a.version === b.version && a.file.write === b.file.write && isDeepStrictEqual({ ...a.file.record }, b.file.record)
  )
}

function isGone(error: unknown): boolean {
  return errorCode(error) === 'ENOENT'
}

function assertGoesOn(what: string, signal: AbortSignal): void {
  if (!signal.aborted) return
  throw new LockRequestError('unreachable', `Could not ${what}: the request was aborted`, { cause: signal.reason })
}

async function writeDurably(path: string, content: string): Promise<void> {
  const handle = await open(path, 'wx', 0o644)
  try {
    await handle.writeFile(content)
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Writes the names in a directory to disk: no epoch may be given twice, also after a power failure. */
async function makeDurable(directory: string): Promise<void> {
  const handle = await open(directory, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
