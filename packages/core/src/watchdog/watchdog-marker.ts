import { readFile, rm } from 'node:fs/promises'

/** What the watchdog thread is started with. */
export interface WatchdogTask {
  readonly memory: SharedArrayBuffer
  /** What each deadline of the board is about. */
  readonly names: readonly string[]
  readonly markerFile: string | undefined
}

/** The file that a watchdog writes before it kills its process. */
export interface WatchdogMarker {
  /** The lease whose deadline had passed. */
  readonly name: string
  readonly pid: number
  /** How long the deadline had passed when the watchdog saw it, in milliseconds. */
  readonly overdueMs: number
  /** The time of the kill, for people to read. */
  readonly firedAt: string
}

/** Reads and removes the marker of a watchdog; undefined if there is none. */
export async function takeMarker(file: string): Promise<WatchdogMarker | undefined> {
  try {
    return JSON.parse(String(await readFile(file))) as WatchdogMarker
  } catch {
    // There is no file, or it is empty because the process ended without its watchdog, or the kill interrupted the write.
    return undefined
  } finally {
    await rm(file, { force: true })
  }
}
