import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { markChildren } from './marked-children.ts'
import { ProcessFamily } from './process-family.ts'
import { ProcessGuard } from './process-guard.ts'

/** The result of {@link OwnedProcesses.start}. */
export interface StartedFamily<T> {
  readonly started: T
  /** The child processes that `start` started itself. */
  readonly children: readonly ChildProcess[]
  readonly family: ProcessFamily
  /** Call this when no process of the family is left. */
  readonly forget: () => void
}

/** Runs a cleanup when the run ends. */
interface Deferring {
  defer(cleanup: () => unknown): void
}

interface Guarded {
  readonly token: string
  readonly guard: ProcessGuard
}

/** The processes that one run of a controller owns, and the guard that kills them if this process dies. */
export class OwnedProcesses {
  readonly #owner: Deferring
  #guarded: Guarded | undefined
  #families = 0

  constructor(owner: Deferring) {
    this.#owner = owner
  }

  /**
   * Calls `start`. Every process that it starts leads its own group and session, and its descendants inherit a token. A worker thread
   * with the environment of this process passes the token on, too. If `start` throws, the processes that it started are killed.
   */
  start<T>(start: () => T): StartedFamily<T> {
    // The guard comes first: this process may be killed at any moment.
    const { token, guard } = (this.#guarded ??= this.#startGuard())
    const familyToken = `${token}:${(this.#families += 1)};`
    const children: ChildProcess[] = []
    const leaders = (): number[] => (process.platform === 'win32' ? [] : children.flatMap(({ pid }) => pid ?? []))
    const family = (): ProcessFamily => new ProcessFamily({ token: familyToken, leaders: leaders() })
    try {
      const started = markChildren(familyToken, children, start)
      for (const leader of leaders()) guard.add(leader)
      const forget = (): void => {
        for (const leader of leaders()) guard.delete(leader)
      }
      return { started, children, family: family(), forget }
    } catch (error) {
      // Nobody owns the processes that it started before it threw.
      family().signal('SIGKILL')
      throw error
    }
  }

  #startGuard(): Guarded {
    const token = randomUUID()
    const guard = new ProcessGuard(token)
    this.#owner.defer(() => guard.close())
    return { token, guard }
  }
}
