/** A running `tenure dev`, and the project that it serves. */
interface FoundDev {
  readonly pid: number
  readonly project: string | undefined
}

/** The PID to join, or when this process joins. */
export type NextChoice = { readonly pid: number } | { readonly waitsFor: string }

/** What a process waits for at first. */
export const NONE_RUNS = { waitsFor: 'one starts' }

/**
 * The choice of the next `tenure dev` after the present one has ended. The same project comes first. Another project counts only if its
 * server has started since then and is the only one, because a server that ran before belongs to somebody else.
 */
export class NextDev {
  readonly #project: string | undefined
  #others: ReadonlySet<number> | undefined

  /** @param project the project of the server that has ended */
  constructor(project: string | undefined) {
    this.#project = project
  }

  /** The one to join, or why this process waits. The first call is to be soon after the end. */
  choose(running: readonly FoundDev[]): NextChoice {
    this.#others ??= new Set(running.map(({ pid }) => pid))
    const others = this.#others
    const same = running.filter(({ project }) => project !== undefined && project === this.#project)
    const candidates = same.length > 0 ? same : running.filter(({ pid }) => !others.has(pid))
    const [first, ...more] = candidates
    if (first !== undefined && more.length === 0) return { pid: first.pid }
    if (first !== undefined) return { waitsFor: `only one of ${listed(candidates)} is left` }
    if (running.length === 0) return NONE_RUNS
    const serves = this.#project === undefined ? 'another one starts' : `one serves ${this.#project}`
    return { waitsFor: `${serves}: ${listed(running)} ran before, for another project` }
  }
}

function listed(running: readonly FoundDev[]): string {
  return running.map(({ pid }) => `PID ${pid}`).join(', ')
}
