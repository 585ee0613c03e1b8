import { globSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** Files that must stay as they are while tests run that read them: a test that fails because of another change notices no mutant. */
export class UnchangedFiles {
  readonly #root: string
  /** When each file was changed last, in milliseconds since the epoch. */
  readonly #changedAt: ReadonlyMap<string, number>

  /** `pattern`: a glob, relative to `root`. */
  constructor(root: string, pattern: string) {
    this.#root = root
    this.#changedAt = new Map(
      globSync(pattern, { cwd: root }).map((file) => [file, statSync(join(root, file)).mtimeMs] as const),
    )
  }

  /** @throws Error if a file was changed, or is gone */
  assert(): void {
    for (const [file, before] of this.#changedAt) {
      if (statSync(join(this.#root, file), { throwIfNoEntry: false })?.mtimeMs === before) continue
      throw new Error(
        `${file} has changed during the run. Run mutants in a clone if you want to work on the sources meanwhile`,
      )
    }
  }
}
