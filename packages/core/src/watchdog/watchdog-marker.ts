import { readFile, rm } from 'node:fs/promises'

/** What the watchdog thread is started with. */
export interface WatchdogTask {
  readonly memory: SharedArrayBuffer
  /** What each deadline of the board is about. */
  readonly names: readonly string[]
  readonly markerFile: string | undefined
}

/** What a watchdog leaves behind when it ends its process. */
export interface WatchdogMarker {
  /** The lease whose deadline had passed. */
  readonly name: string
  readonly pid: number
  /** By how much the deadline had passed when the watchdog saw it. */
  readonly overdueMs: number
  /** For people to read. */
  readonly firedAt: string
}

/** Reads and removes what a watchdog left behind. Undefined when there is nothing of one. */
export async function takeMarker(file: string): Promise<WatchdogMarker | undefined> {
  const text = await readFile(file, 'utf8').catch(() => '')
  await rm(file, { force: true })
  try {
    return JSON.parse(text) as WatchdogMarker
  } catch {
    // Empty: the process ended without its watchdog. Or cut short, by the very end that it tells of.
    return undefined
  }
}
