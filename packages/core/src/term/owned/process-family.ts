import { environmentIncludes, processEntry, type ProcessEntry, processTable } from './process-table.ts'

/** What identifies the processes of a family. */
export interface FamilyMarks {
  /** Part of the environment of each of them. */
  readonly token: string
  /** The pids of the processes that lead their process groups and sessions. */
  readonly leaders: readonly number[]
}

/** How often a search looks at a process that starts one program after the other. */
const LOOKS = 20

/**
 * A process and everything that it has started, including processes that left its group or outlived it.
 *
 * On Linux: every process in the groups or the sessions, every process with the token in its environment, their children, and every
 * process that was found before. On other POSIX systems: the groups. On Windows: nothing.
 */
export class ProcessFamily {
  readonly #marks: FamilyMarks
  /** The result of the last search. While one of them runs, no other search is needed. */
  #seen: readonly ProcessEntry[] = []

  constructor(marks: FamilyMarks) {
    this.#marks = marks
  }

  /** The processes that run. Of a group whose members are invisible, the negative number of the group. */
  running(): readonly number[] {
    this.#seen = this.#seen.filter(stillRuns)
    return this.#seen.length > 0 ? this.#seen.map(({ pid }) => pid) : this.search()
  }

  /** Sends a signal to every process that runs, to a group in one step, so that a fork cannot evade it. Returns what {@link search} found. */
  signal(signal: NodeJS.Signals): readonly number[] {
    const running = this.search()
    // The number of a group without members may belong to another group by now.
    const groups = this.#marks.leaders.filter(
      (leader) => running.includes(-leader) || this.#seen.some(({ group }) => group === leader),
    )
    for (const leader of groups) send(-leader, signal)
    for (const { pid, group } of this.#seen) if (!groups.includes(group)) send(pid, signal)
    return running
  }

  /**
   * Finds the processes that run now. It keeps a process that it found once, even after that process has lost its parent. A process that
   * starts one program after the other, so that its environment cannot be read, counts as one of them until it can be read.
   *
   * If it finds none after the first process or thread has ended, none will ever run: only they start others.
   */
  search(): readonly number[] {
    const { leaders } = this.#marks
    const self = processEntry(process.pid)
    // Some kernels, such as gVisor's, do not tell how long an environment is. There, one look decides.
    const looks = self?.environmentBytes === undefined ? 1 : LOOKS
    const unclear: number[] = []
    const isMarked = (entry: ProcessEntry): boolean => {
      if (leaders.includes(entry.group) || leaders.includes(entry.session)) return true
      const hasToken = this.#hasToken(entry, looks)
      if (hasToken === undefined && looks > 1) unclear.push(entry.pid)
      return hasToken === true
    }
    const before = this.#seen.filter(stillRuns)
    const isKnown = ({ pid }: ProcessEntry): boolean => before.some((entry) => entry.pid === pid)
    const candidates: ProcessEntry[] = []
    const members: ProcessEntry[] = []
    for (const entries of processTable()) {
      // Reading an environment is the slowest step. No descendant is older than this process.
      const younger = entries.filter(
        ({ pid, startedAt }) => pid !== self?.pid && !(self !== undefined && startedAt < self.startedAt),
      )
      candidates.push(...younger)
      members.push(...younger.filter((entry) => isKnown(entry) || isMarked(entry)))
    }
    this.#seen = withChildren(members, candidates).filter(({ runs }) => runs)
    const hidden = leaders.filter((leader) => !candidates.some(({ group }) => group === leader) && exists(-leader))
    const found = [...hidden.map((leader) => -leader), ...this.#seen.map(({ pid }) => pid)]
    return [...found, ...unclear.filter((pid) => !found.includes(pid))]
  }

  /** Undefined if no look could tell. */
  #hasToken(entry: ProcessEntry, looks: number): boolean | undefined {
    const { token } = this.#marks
    let has = environmentIncludes(entry, token)
    for (let look = 1; look < looks && has === undefined; look++) {
      const now = processEntry(entry.pid)
      has = now?.startedAt === entry.startedAt && environmentIncludes(now, token)
    }
    return has
  }
}

/** The members with their children, the children of these, and so on. */
function withChildren(members: readonly ProcessEntry[], all: readonly ProcessEntry[]): readonly ProcessEntry[] {
  const found = new Set(members)
  const pids = new Set(members.map(({ pid }) => pid))
  for (let before = 0; before < found.size;) {
    before = found.size
    for (const entry of all) {
      if (pids.has(entry.parent)) {
        found.add(entry)
        pids.add(entry.pid)
      }
    }
  }
  return [...found]
}

function stillRuns({ pid, startedAt }: ProcessEntry): boolean {
  const now = processEntry(pid)
  return now?.runs === true && now.startedAt === startedAt
}

/** Also true for a zombie. */
function exists(target: number): boolean {
  try {
    process.kill(target, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function send(target: number, signal: NodeJS.Signals): void {
  try {
    process.kill(target, signal)
  } catch {
    // The process has ended, or belongs to another user. In that case the next search finds it again.
  }
}
