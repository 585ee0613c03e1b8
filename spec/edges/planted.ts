import type { Mutant } from '../../test/mutants/mutants.ts'

const PHASES = 'packages/core/src/election/phases'
const RULES = 'packages/core/src/election/rules'
const ELECTOR = 'packages/core/src/election/elector.ts'

const planted = (id: string, defect: string, file: string, find: string, replace: string): Mutant => ({
  id,
  defect,
  file,
  find,
  replace,
  checks: [],
})

/** Defects of the machine and its driver that the walk must find. */
export const PLANTED: readonly Mutant[] = [
  planted('E1', 'counts validity from the answer', `${PHASES}/hold.ts`, 'extendsValidity ? validityFrom(write.sentAt, timing)', 'extendsValidity ? validityFrom(at.now, timing)'),
  planted('E2', 'keeps a lease that another replica has acquired', `${PHASES}/hold.ts`, "return lost(context, 'superseded', snapshot)\n  const next", 'return held(context, hold)\n  const next'),
  planted('E3', 'releases the lease while tasks run', `${PHASES}/draining.ts`, "if (drain.kind !== 'empty' || !isIdle(hold)) return { state, effects: [] }", 'if (!isIdle(hold)) return { state, effects: [] }'),
  planted('E4', 'forgets the epoch of the term after its own', `${PHASES}/hold.ts`, 'withEpochSeen(context.memory, context.hold.lease.record, snapshot)', '((memory: Memory) => memory)(context.memory)'),
  planted('E5', 'acquires a lease before it has expired', `${RULES}/chance.ts`, 'changedAt + durationMs(lease))', 'changedAt + durationMs(lease) / 2)'),
  planted('E6', 'does not recognize its own acquisition', `${RULES}/observation.ts`, 'return writes.find((write) => isWrittenAs(snapshot.record, write.record))', 'return undefined'),
  planted('E7', 'begins a term after the deadline of the acquisition', `${PHASES}/acquiring.ts`, 'if (at.now >= hold.deadlineAt || looksUnchanged(write, config)) {', 'if (looksUnchanged(write, config)) {'),
  planted('E8', 'acts at once on a lease that was deleted', `${PHASES}/acquiring.ts`, "return memory.existed || missingLease === 'wait'", 'return false'),
  planted('E9', 'driver: carries out only the first effect of an event', ELECTOR, 'for (const effect of effects) this.#carryOut(effect)', 'for (const effect of effects.slice(0, 1)) this.#carryOut(effect)'),
  planted('E10', 'driver: sets no timer after an event', ELECTOR, '    this.#setTimer()\n    onState(state)', '    onState(state)'),
  planted('E11', 'driver: takes a report of the watch for the answer to no request', ELECTOR, "changed: (snapshot) => this.#handle({ kind: 'observed', snapshot })", 'changed: () => {}'),
]
