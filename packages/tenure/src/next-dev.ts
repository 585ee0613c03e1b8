/** A running `tenure dev`, and the project that it serves. */
interface FoundDev {
  readonly pid: number
  readonly project: string | undefined
}

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

  /** The PID of the one to join; undefined if it does not run yet. The first call is to be soon after the end. */
  choose(running: readonly FoundDev[]): number | undefined {
    this.#others ??= new Set(running.map(({ pid }) => pid))
    const others = this.#others
    const same = running.filter(({ project }) => project !== undefined && project === this.#project)
    const [first, ...more] = same.length > 0 ? same : running.filter(({ pid }) => !others.has(pid))
    return more.length === 0 ? first?.pid : undefined
  }
}
