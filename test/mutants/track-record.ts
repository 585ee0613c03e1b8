import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Means } from './means/means.ts'
import type { Trials } from './means/run-means.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const FILE = fileURLToPath(new URL('track-record.json', import.meta.url))

/** What was found of a mutant in one way, and when it was last tried. */
export interface Trial {
  /** What found it. Null if nothing did. */
  readonly by: string | null
  /** The last commit of the sources on which it was tried. */
  readonly commit: string
}

/** The trials of a mutant, as far as it was tried. */
export type TrialsOfMutant = Partial<Record<Means, Trial>>

/** Every trial of every mutant, in a file. */
export class TrackRecord {
  readonly #trials: Record<string, TrialsOfMutant>

  constructor() {
    this.#trials = JSON.parse(readFileSync(FILE, 'utf8')) as Record<string, TrialsOfMutant>
  }

  of(id: string): TrialsOfMutant {
    return this.#trials[id] ?? {}
  }

  /** The means that found the mutant before and do not find it now. What processes show depends on chance. */
  lostBy(id: string, found: Trials['found']): readonly Means[] {
    const means = Object.keys(found) as Means[]
    return means.filter(
      (one) => one !== 'processes' && typeof this.of(id)[one]?.by === 'string' && found[one] === undefined,
    )
  }

  enter(id: string, found: Trials['found'], commit: string): void {
    const trials = Object.entries(found).map(([means, by]) => [means, { by: by ?? null, commit }] as const)
    this.#trials[id] = { ...this.of(id), ...(Object.fromEntries(trials) as TrialsOfMutant) }
  }

  /** Writes the file, with the mutants in this order and no others. */
  save(ids: readonly string[]): void {
    const ordered = Object.fromEntries(ids.map((id) => [id, this.of(id)]))
    writeFileSync(FILE, `${JSON.stringify(ordered, null, 2)}\n`)
  }
}

/** The last commit that changed a source of a package. */
export function commitOfSources(): string {
  const args = ['log', '-1', '--format=%h', '--', 'packages/*/src/*']
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}
