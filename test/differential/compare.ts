import { isSameRecord } from '../../packages/core/src/election/rules/records.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import type { Divergence } from './differences.ts'
import type { Decision, HistoryStep } from './history.ts'
import type { Situation } from './tenure-elector.ts'

/** The first step with different decisions. Undefined if all decisions are the same. */
export function compare(
  steps: readonly HistoryStep[],
  ours: readonly Situation[],
  theirs: readonly Decision[],
): Divergence | undefined {
  const views = new Views()
  for (const [index, situation] of ours.entries()) {
    const step = steps[index]
    const decision = theirs[index]
    if (step === undefined || decision === undefined)
      throw new Error(`Expected a decision of client-go at step ${index}`)
    views.look(step, situation)
    if (decision.wrote !== situation.wrote || decision.leads !== situation.leads) {
      return { step, ours: situation, theirs: decision, ...views.at(step, situation) }
    }
    views.acted(step, situation)
  }
  return undefined
}

/** What each side has seen of the lease so far. */
class Views {
  /** When the lease last changed: as Tenure saw it, as it was found at the steps, and as client-go compares it. */
  readonly #changedAt = { ours: 0, found: 0, theirs: 0 }
  #wroteAt = Number.NEGATIVE_INFINITY
  #last: Pick<Situation, 'found' | 'seen'> | undefined
  #strategy: string | undefined
  #lastStrategy: string | undefined
  /** What a follower last found, and what it had found before this step. */
  #followed: LockSnapshot | undefined
  #followedBefore: LockSnapshot | undefined

  /** Notes what a step finds. */
  look({ at, put }: HistoryStep, { found, seen, led }: Situation): void {
    const last = this.#last
    this.#noteStrategy(put)
    if (!isSameExactly(last?.seen, found)) this.#changedAt.ours = at
    if (!isSameExactly(last?.found, found)) this.#changedAt.found = at
    const isSameStrategy = this.#lastStrategy === this.#strategy
    if (!isSameStrategy || !isSameToClientGo(last?.found, found)) this.#changedAt.theirs = at
    this.#last = { found, seen }
    this.#lastStrategy = this.#strategy
    this.#followedBefore = this.#followed
    if (!led) this.#followed = found
  }

  /** Notes what a step changes. */
  acted({ at, race }: HistoryStep, { found, seen, wrote }: Situation): void {
    if (!isSameExactly(found, seen)) this.#changedAt.ours = at
    if (wrote !== '') this.#wroteAt = at
    this.#noteStrategy(race)
  }

  /** The views at a step, after `look()`. */
  at(
    { at }: HistoryStep,
    { isOwn, raced, found }: Situation,
  ): Pick<Divergence, 'unchangedMs' | 'sinceWriteMs' | 'isRestored'> {
    const { ours, found: foundAt, theirs } = this.#changedAt
    return {
      unchangedMs: { ours: at - ours, found: at - foundAt, theirs: at - theirs },
      sinceWriteMs: at - this.#wroteAt,
      isRestored: isSameToClientGo(this.#followedBefore, isOwn ? raced : found),
    }
  }

  #noteStrategy(change: HistoryStep['put']): void {
    if (change?.kind === 'put') this.#strategy = change.record.strategy
  }
}

function isSameExactly(a: LockSnapshot | undefined, b: LockSnapshot): boolean {
  return a?.kind === 'present' && b.kind === 'present' && isSameRecord(a.record, b.record)
}

/** client-go compares records as JSON, in which times have whole seconds and what is missing is empty. */
function isSameToClientGo(a: LockSnapshot | undefined, b: LockSnapshot): boolean {
  return a?.kind === 'present' && b.kind === 'present' && isSameRecord(inJson(a), inJson(b))
}

function inJson({ record }: Extract<LockSnapshot, { kind: 'present' }>) {
  const cut = (time: string | undefined) => time?.slice(0, '2006-01-02T15:04:05'.length)
  return {
    ...record,
    leaseDurationSeconds: record.leaseDurationSeconds ?? 0,
    leaseTransitions: record.leaseTransitions ?? 0,
    acquireTime: cut(record.acquireTime),
    renewTime: cut(record.renewTime),
  }
}
