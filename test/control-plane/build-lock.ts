import { rm, stat, utimes, writeFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'

const pollIntervalMs = 250
const heartbeatMs = 5_000
const abandonedAfterMs = 30_000

/**
 * Runs `work` while no other process on this file system runs work under the same lock file.
 *
 * The holder touches the file again and again. A file not touched for half a minute belongs to a process that
 * died. The lock saves the second of two builders the work of the first. It is not needed for safety, and does not
 * promise it: two processes may find the same lock abandoned at the same moment, and both go on.
 */
export async function withBuildLock<T>(path: string, work: () => Promise<T>): Promise<T> {
  while (!(await tryLock(path))) {
    if (await isAbandoned(path)) await rm(path, { force: true })
    else await sleep(pollIntervalMs)
  }
  const heartbeat = setInterval(() => void touch(path), heartbeatMs)
  try {
    return await work()
  } finally {
    clearInterval(heartbeat)
    await rm(path, { force: true })
  }
}

async function tryLock(path: string): Promise<boolean> {
  try {
    await writeFile(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function touch(path: string): Promise<void> {
  const now = new Date()
  // Another process considered the lock abandoned and removed it.
  await utimes(path, now, now).catch(() => {})
}

async function isAbandoned(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Date.now() - found.mtimeMs > abandonedAfterMs
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
