import { setTimeout } from 'node:timers/promises'
import type { TaskNote } from '../task-scope.ts'
import type { StartedFamily } from './owned-processes.ts'
import type { Owner } from './owner.ts'

/** How often to check whether the processes have ended, first and later. */
const SHORTEST_PAUSE_MS = 5
const LONGEST_PAUSE_MS = 50

/** How the first process or thread of a family ended. */
export interface FirstEnd {
  /** Name of the task. */
  readonly name: string
  readonly task: TaskNote
  /** Undefined if it succeeded, or was asked to end. */
  readonly failure: { readonly error: unknown } | undefined
  /** Called when nothing of the family is left. */
  readonly forget: () => void
}

/** Ends the remaining processes of a family after its first process or thread has ended. */
export class FamilyEnd {
  readonly #owner: Owner
  readonly #started: Pick<StartedFamily<unknown>, 'family' | 'forget'>
  #phase: 'lasting' | 'asked' | 'killed' = 'lasting'
  /** Whether the search of {@link ask} found none: then none will ever run. */
  #isOver = false

  constructor(owner: Owner, started: Pick<StartedFamily<unknown>, 'family' | 'forget'>) {
    this.#owner = owner
    this.#started = started
  }

  /** Finds the processes of the family while their parents run. */
  find(): void {
    this.#started.family.search()
  }

  /** Sends SIGTERM to every process of the family, once. Called when the first process or thread has ended. */
  ask(): void {
    if (this.#phase !== 'lasting') return
    this.#phase = 'asked'
    this.#isOver = this.#started.family.signal('SIGTERM').length === 0
  }

  /** Sends SIGKILL to every process of the family, and later to processes that are found later. */
  kill(): void {
    this.#phase = 'killed'
    this.#started.family.signal('SIGKILL')
  }

  /**
   * Resolves when no process of the family runs. Rejects immediately with a failure: it ends the term, which then ends the other
   * processes in a task of its own.
   */
  async finish({ name, task, failure, forget }: FirstEnd): Promise<void> {
    const over = async (rest: TaskNote): Promise<void> => {
      await this.#over(rest)
      forget()
      this.#started.forget()
    }
    if (failure === undefined || this.#owner.signal.aborted || !this.#isRunning()) await over(task)
    else this.#owner.track(`processes that ${name} left`, over).catch(() => {})
    if (failure !== undefined) throw failure.error
  }

  async #over(task: TaskNote): Promise<void> {
    for (let pauseMs = SHORTEST_PAUSE_MS; this.#isRunning(); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const after = { lasting: '', asked: ' after SIGTERM', killed: ' after SIGKILL' }[this.#phase]
      task.waitsOn = `${describe(this.#started.family.running())} to end${after}`
      // Processes end in real time, even if the term has a virtual clock.
      await setTimeout(pauseMs)
      if (this.#phase === 'killed') this.#started.family.signal('SIGKILL')
    }
  }

  #isRunning(): boolean {
    return !this.#isOver && this.#started.family.running().length > 0
  }
}

function describe(running: readonly number[]): string {
  const shown = running.slice(0, 5).map((pid) => (pid < 0 ? `group ${-pid}` : `process ${pid}`))
  const more = running.length > shown.length ? ` and ${running.length - shown.length} more` : ''
  return `${shown.join(', ')}${more}`
}
