import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Census } from './census.ts'

/** Keeps censuses on disk, because in memory they would count as growth. */
export class CensusJournal implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'tenure-soak-'))
  readonly #file = join(this.#folder, 'censuses')

  add(census: Census): void {
    appendFileSync(this.#file, `${JSON.stringify(census)}\n`)
  }

  /** All censuses, in order. */
  read(): readonly Census[] {
    const lines = readFileSync(this.#file, 'utf8').trim().split('\n')
    return lines.map((line): Census => JSON.parse(line))
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true })
  }
}
