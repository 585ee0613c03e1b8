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
  /**
   * Length of its environment in bytes, 0 for a thread of the kernel. Undefined while it starts another program, for other users' processes,
   * and if the kernel does not tell.
   */
  readonly environmentBytes: number | undefined
}

/** Flags in `stat`, from Linux' `include/linux/sched.h`: a thread that ends, and a thread of the kernel. */
const EXITING = 0x4
const KERNEL_THREAD = 0x20_0000

/** Node reads a file in this encoding in one call, which takes half the time. What is no UTF-8 leaves the ASCII around it as it is. */
const UTF_8 = 'utf8'

/** How often the processes are listed while others start: enough for a process that starts another one and ends, again and again. */
const LISTINGS = 10

/**
 * All processes that `/proc` shows. Empty without it: on macOS, on Windows, and without the permission to read it.
 *
 * A process may start another one and end before it is read. So there are further parts, with the processes that are new, until a list has
 * none that is new. Examine each part before you ask for the next.
 */
export function* processTable(): Generator<readonly ProcessEntry[], void> {
  const listed = new Set<number>()
  for (let listing = 0; listing < LISTINGS; listing++) {
    const pids = listedPids().filter((pid) => !listed.has(pid))
    if (pids.length === 0) return
    for (const pid of pids) listed.add(pid)
    yield pids.flatMap((pid) => processEntry(pid) ?? [])
  }
}

function listedPids(): readonly number[] {
  if (process.platform !== 'linux') return []
  const names = read(() => readdirSync('/proc')) ?? []
  return names.filter((name) => /^\d+$/.test(name)).map(Number)
}

/** Undefined when there is no such process. */
export function processEntry(pid: number): ProcessEntry | undefined {
  return entryIn(`/proc/${pid}`)
}

/**
 * Whether a process has `text` in its environment. False for the processes of other users. Undefined while that is not clear: while a
 * process starts another program, its environment reads as empty or in part.
 */
export function environmentIncludes({ pid, environmentBytes }: ProcessEntry, text: string): boolean | undefined {
  const has = includes(`/proc/${pid}`, environmentBytes, text)
  if (has !== undefined) return has
  // The first thread may have ended before the others.
  const threads = read(() => readdirSync(`/proc/${pid}/task`)) ?? []
  const results = threads.map((thread) => threadIncludes(`/proc/${pid}/task/${thread}`, text))
  if (results.includes(true)) return true
  return results.includes(undefined) ? undefined : false
}

function threadIncludes(path: string, text: string): boolean | undefined {
  const entry = entryIn(path)
  return entry === undefined || entry.hasEnded ? false : includes(path, entry.environmentBytes, text)
}

function includes(path: string, bytes: number | undefined, text: string): boolean | undefined {
  const environment = read(() => readFileSync(`${path}/environ`, UTF_8))
  if (environment === undefined) return false
  if (environment.includes(text)) return true
  if (Buffer.byteLength(environment) === bytes) return false
  // It may be no UTF-8. Then its bytes have another length than its text.
  const raw = read(() => readFileSync(`${path}/environ`))
  if (raw?.includes(text) === true) return true
  return raw === undefined || raw.length === bytes ? false : undefined
}

/** Reads the entry of a process or of one of its threads. */
function entryIn(path: string): (ProcessEntry & { readonly hasEnded: boolean }) | undefined {
  const stat = read(() => readFileSync(`${path}/stat`, UTF_8))
  if (stat === undefined) return undefined
  // The name of the program comes before these, in brackets, and may contain any character.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isZombie = fields[0] === 'Z' || fields[0] === 'X'
  const number = (at: number): number => Number(fields[at])
  const flags = number(6)
  return {
    pid: Number(path.slice(path.lastIndexOf('/') + 1)),
    parent: number(1),
    group: number(2),
    session: number(3),
    startedAt: number(19),
    // The first thread of a process may have ended before the others.
    runs: !isZombie || number(17) > 1,
    hasEnded: isZombie || (flags & EXITING) !== 0,
    environmentBytes: (flags & KERNEL_THREAD) === 0 ? environmentBytes(number(24), number(47), number(48)) : 0,
  }
}

/** The kernel sets the start of the environment, then its end, then the end of the program's code, which is 0 until all is in place. */
function environmentBytes(codeEnd: number, start: number, end: number): number | undefined {
  return codeEnd > 0 && end > 0 ? end - start : undefined
}

function read<T>(from: () => T): T | undefined {
  try {
    return from()
  } catch {
    return undefined
  }
}
