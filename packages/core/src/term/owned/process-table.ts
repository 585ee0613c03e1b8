import { readdirSync, readFileSync } from 'node:fs'

/** A process of this machine or container. */
export interface ProcessEntry {
  readonly pid: number
  readonly parent: number
  readonly group: number
  readonly session: number
  /** In ticks since the machine started. Tells two processes that had the same pid apart. */
  readonly startedAt: number
  /** False for a zombie. In a container whose PID 1 reaps nothing, zombies stay until the container ends. */
  readonly runs: boolean
}

/** Node reads a file in this encoding in one call, which takes half the time. What is no UTF-8 leaves the ASCII around it as it is. */
const UTF_8 = 'utf8'

/** All processes that `/proc` shows. Undefined without it: on macOS, on Windows, and without the permission to read it. */
export function processTable(): readonly ProcessEntry[] | undefined {
  if (process.platform !== 'linux') return undefined
  const pids = read(() => readdirSync('/proc'))?.filter((name) => /^\d+$/.test(name))
  return pids?.flatMap((pid) => processEntry(Number(pid)) ?? [])
}

/** Undefined when there is no such process. */
export function processEntry(pid: number): ProcessEntry | undefined {
  const stat = read(() => readFileSync(`/proc/${pid}/stat`, UTF_8))
  if (stat === undefined) return undefined
  // The name of the program comes before these, in brackets, and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state, parent, group, session] = fields
  const [threads, startedAt] = [fields[17], fields[19]]
  // The first thread of a process may have ended before the others.
  const runs = (state !== 'Z' && state !== 'X') || Number(threads) > 1
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    session: Number(session),
    startedAt: Number(startedAt),
    runs,
  }
}

/** Whether the process was started with `text` in its environment. False for those of other users. */
export function environmentIncludes(pid: number, text: string): boolean {
  return read(() => readFileSync(`/proc/${pid}/environ`, UTF_8))?.includes(text) ?? false
}

function read<T>(from: () => T): T | undefined {
  try {
    return from()
  } catch {
    return undefined
  }
}
