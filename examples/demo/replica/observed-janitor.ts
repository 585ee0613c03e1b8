import type { Term } from 'tenure'
import { Janitor } from '../../quickstart/janitor.ts'
import type { EndedTerms } from './ended-terms.ts'
import type { Report } from './report.ts'

/** What an {@link ObservedJanitor} needs besides what a janitor needs. */
export interface Observation {
  readonly report: Report
  readonly endedTerms: EndedTerms
}

/** The janitor of the quickstart, which tells when it begins and when it is gone, and can be made to get stuck. */
export class ObservedJanitor extends Janitor {
  readonly #observation: Observation
  #term: Term | undefined

  constructor(observation: Observation, ...janitor: ConstructorParameters<typeof Janitor>) {
    super(...janitor)
    this.#observation = observation
  }

  override async run(term: Term): Promise<void> {
    const { report, endedTerms } = this.#observation
    const { epoch } = term
    report({ kind: 'run-began', epoch })
    // Cleanups run after the last task, the last one first: so this is the very end.
    term.defer(() => {
      report({ kind: 'run-over', epoch })
      endedTerms.add(term)
      this.#term = undefined
    })
    this.#term = term
    await super.run(term)
  }

  /** Begins a task that heeds neither signal of its term, as a bug would. */
  getStuck(): void {
    void this.#term?.spawn('compact-archive', () => new Promise(() => {}))
  }
}
