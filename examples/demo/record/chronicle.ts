import type { LiveTask } from 'tenure'
import type { ReplicaReport } from '../replica/messages.ts'

/** A process of a replica. */
export interface Author {
  readonly name: string
  readonly pid: number
}

/** One run of a controller. Times are on the monotonic clock. */
export interface Run {
  readonly replica: Author
  readonly epoch: bigint
  readonly beganAt: number
  /** Undefined while it lasts. A process that is gone runs nothing. */
  readonly overAt: number | undefined
}

type Report<K extends ReplicaReport['kind']> = Extract<ReplicaReport, { readonly kind: K }>

/** A term as its replica told it. */
export interface TermStory {
  readonly replica: Author
  readonly epoch: bigint
  readonly ending: Report<'term-ending'> | undefined
  readonly over: Report<'term-over'> | undefined
  readonly stuckTasks: readonly LiveTask[]
  readonly runs: readonly Run[]
}

/** What the replicas told of their terms, in the order of the epochs. */
export class Chronicle {
  readonly #terms = new Map<bigint, TermStory>()

  /** All terms, the oldest first. */
  get terms(): readonly TermStory[] {
    return [...this.#terms.values()].toSorted((a, b) => (a.epoch < b.epoch ? -1 : 1))
  }

  /** The youngest term whose controller has begun to run, also when it is over. */
  get latest(): TermStory | undefined {
    return this.terms.findLast(({ runs }) => runs.length > 0)
  }

  /** All runs of controllers. */
  get runs(): readonly Run[] {
    return this.terms.flatMap(({ runs }) => runs)
  }

  /** The term with that epoch, as far as reported. */
  term(epoch: bigint): TermStory | undefined {
    return this.#terms.get(epoch)
  }

  /** Terms that one process has led. */
  termsOf({ pid }: Author): readonly TermStory[] {
    return this.terms.filter(({ replica }) => replica.pid === pid)
  }

  /** Takes in a report. Those that do not concern a term are left out. */
  take(replica: Author, report: ReplicaReport): void {
    if (!('epoch' in report)) return
    const { name, pid } = replica
    const { epoch, at } = report
    const term = this.#terms.get(epoch) ?? newTerm({ name, pid }, epoch)
    const run: Run = { replica: term.replica, epoch, beganAt: at, overAt: undefined }
    if (report.kind === 'term-began') this.#terms.set(epoch, term)
    if (report.kind === 'run-began') this.#terms.set(epoch, { ...term, runs: [...term.runs, run] })
    if (report.kind === 'run-over') this.#terms.set(epoch, withRunsOver(term, at))
    if (report.kind === 'term-ending') this.#terms.set(epoch, { ...term, ending: report })
    if (report.kind === 'term-over') this.#terms.set(epoch, { ...term, over: report })
    if (report.kind === 'wedged') this.#terms.set(epoch, { ...term, stuckTasks: report.tasks })
  }

  /** Notes that a process is gone, and with it all that it ran. */
  gone(replica: Author, at: number): void {
    for (const term of this.termsOf(replica)) this.#terms.set(term.epoch, withRunsOver(term, at))
  }
}

function newTerm(replica: Author, epoch: bigint): TermStory {
  return { replica, epoch, ending: undefined, over: undefined, stuckTasks: [], runs: [] }
}

function withRunsOver(term: TermStory, at: number): TermStory {
  return { ...term, runs: term.runs.map((run) => ({ ...run, overAt: run.overAt ?? at })) }
}
