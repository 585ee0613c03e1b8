import type { ChangedFile } from '../changed-file.ts'
import type { Mutant } from '../mutants.ts'
import { runTests } from '../run-mutant.ts'
import { canShow, type Means } from './means.ts'
import { ProcessFleets } from './process-fleets.ts'
import { runFleets } from './run-fleets.ts'
import { searchMachine, walkSteps } from './searches.ts'
import { breakRule } from './spec.ts'
import { TypesTrial } from './types.ts'

/** The result of some means for a mutant. */
export interface Trials {
  /** What found the mutant, by means: a message, a test, a seed. `undefined` for means that were tried and found nothing. */
  readonly found: Partial<Record<Means, string | undefined>>
  /** Seconds of CPU time of the unit tests. */
  readonly cpuSeconds: number
}

/** Looks for defects by some of the means. */
export class MeansRunner implements AsyncDisposable {
  readonly #means: readonly Means[]
  readonly #types: TypesTrial | undefined
  readonly #processes = new ProcessFleets()

  constructor(means: readonly Means[]) {
    this.#means = means
    this.#types = means.includes('types') ? new TypesTrial() : undefined
  }

  async run(mutant: Mutant, changed: ChangedFile): Promise<Trials> {
    const found: Partial<Record<Means, string | undefined>> = {}
    let cpuSeconds = 0
    const isTried = (means: Means): boolean => this.#means.includes(means) && canShow(means, mutant)
    if (isTried('types')) found.types = this.#types?.errorOf(changed)
    if (isTried('unit')) {
      const { failed, broken, ...tests } = await runTests(changed, mutant.checks)
      if (broken.length > 0) throw new Error(`Mutant ${mutant.id} cannot be run: ${broken.join('; ')}`)
      found.unit = failed[0] === undefined ? undefined : `\`${mutant.checks.join('`, `')}\`: ${failed[0]}`
      cpuSeconds = tests.cpuSeconds
    }
    if (isTried('spec')) found.spec = await breakRule(mutant.id)
    if (isTried('edges')) found.edges = await walkSteps(changed)
    if (isTried('explorer')) found.explorer = await searchMachine(changed)
    if (isTried('simulator') || isTried('traces')) {
      const { simulator, traces } = await runFleets(changed)
      if (isTried('simulator')) found.simulator = simulator
      if (isTried('traces')) found.traces = traces
    }
    if (isTried('processes')) found.processes = await this.#processes.find(changed)
    return { found, cpuSeconds }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#types?.[Symbol.dispose]()
    await this.#processes[Symbol.asyncDispose]()
  }
}
