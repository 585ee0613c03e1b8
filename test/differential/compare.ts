import { isSameRecord } from '../../packages/core/src/election/rules/records.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import type { Divergence } from './differences.ts'
import type { Decision, HistoryStep } from './history.ts'
import type { Situation } from './tenure-elector.ts'

/** The first step at which the decisions differ; undefined when they are the same to the end. */
export function compare(
  steps: readonly HistoryStep[],
  ours: readonly Situation[],
  theirs: readonly Decision[],
): Divergence | undefined {
  const since = { ours: 0, found: 0, theirs: 0, write: Number.NEGATIVE_INFINITY }
  let followed: LockSnapshot | undefined
  let strategy: string | undefined
  let last:
    { readonly found: LockSnapshot; readonly seen: LockSnapshot; readonly strategy: string | undefined } | undefined
  for (const [index, situation] of ours.entries()) {
    const step = steps[index]
    const decision = theirs[index]
    if (step === undefined || decision === undefined)
      throw new Error(`Expected a decision of client-go at step ${index}`)
    if (step.put?.kind === 'put') strategy = step.put.record.strategy
    const { found } = situation
    if (last === undefined || !isSameExactly(last.seen, found)) since.ours = step.at
    if (last === undefined || !isSameExactly(last.found, found)) since.found = step.at
    if (last === undefined || !isSameToClientGo(last.found, found) || last.strategy !== strategy) since.theirs = step.at
    last = { found, seen: situation.seen, strategy }
    const isRestored = followed !== undefined && isSameToClientGo(followed, situation.isOwn ? situation.raced : found)
    if (!situation.led) followed = found
    if (decision.wrote !== situation.wrote || decision.leads !== situation.leads) {
      const unchangedMs = {
        ours: step.at - since.ours,
        found: step.at - since.found,
        theirs: step.at - since.theirs,
      }
      const sinceWriteMs = step.at - since.write
      return { step, ours: situation, theirs: decision, unchangedMs, sinceWriteMs, isRestored }
    }
    if (!isSameExactly(found, situation.seen)) since.ours = step.at
    if (situation.wrote !== '') since.write = step.at
    if (step.race?.kind === 'put') strategy = step.race.record.strategy
  }
  return undefined
}

function isSameExactly(a: LockSnapshot, b: LockSnapshot): boolean {
  return a.kind === 'present' && b.kind === 'present' && isSameRecord(a.record, b.record)
}

/** client-go compares records as JSON, in which times have whole seconds and what is missing is empty. */
function isSameToClientGo(a: LockSnapshot, b: LockSnapshot): boolean {
  return a.kind === 'present' && b.kind === 'present' && isSameRecord(inJson(a), inJson(b))
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
