import type { Mutant } from '../../test/mutants/mutants.ts'

/** A defect, and the name of the model in whose walk it shows. */
interface Planted extends Mutant {
  readonly only: string
}

const PHASES = 'packages/core/src/election/phases'
const RULES = 'packages/core/src/election/rules'
const ELECTOR = 'packages/core/src/election/elector.ts'

const planted = (id: string, only: string, change: Pick<Mutant, 'defect' | 'file' | 'find' | 'replace'>): Planted => ({
  id,
  only,
  ...change,
  checks: [],
})

/** Defects of the machine and its driver that the walk must find. */
export const PLANTED: readonly Planted[] = [
  planted('E1', 'validity', {
    defect: 'counts validity from the answer',
    file: `${PHASES}/hold.ts`,
    find: 'extendsValidity ? validityFrom(write.sentAt, timing)',
    replace: 'extendsValidity ? validityFrom(at.now, timing)',
  }),
  planted('E2', 'validity', {
    defect: 'keeps a lease that another replica has acquired',
    file: `${PHASES}/hold.ts`,
    find: "return lost(context, 'superseded', snapshot)\n  const next",
    replace: 'return held(context, hold)\n  const next',
  }),
  planted('E3', 'one term', {
    defect: 'releases the lease while tasks run',
    file: `${PHASES}/draining.ts`,
    find: "if (drain.kind !== 'empty' || !isIdle(hold)) return { state, effects: [] }",
    replace: 'if (!isIdle(hold)) return { state, effects: [] }',
  }),
  planted('E4', 'validity', {
    defect: 'forgets the epoch of the term after its own',
    file: `${PHASES}/hold.ts`,
    find: 'withEpochSeen(context.memory, context.hold.lease.record, snapshot)',
    replace: '((memory: Memory) => memory)(context.memory)',
  }),
  planted('E5', 'validity', {
    defect: 'acquires a lease before it has expired',
    file: `${RULES}/chance.ts`,
    find: "return Math.max(guardedUntil, record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease))",
    replace: "return record.holderIdentity === '' ? changedAt : changedAt + durationMs(lease) / 2",
  }),
  planted('E6', 'one term', {
    defect: 'does not recognize its own acquisition',
    file: `${RULES}/observation.ts`,
    find: 'return writes.find((write) => isWrittenAs(snapshot.record, write.record))',
    replace: 'return undefined',
  }),
  planted('E7', 'one term', {
    defect: 'begins a term after the deadline of the acquisition',
    file: `${PHASES}/acquiring.ts`,
    find: 'if (at.now >= hold.deadlineAt || looksUnchanged(write, config)) {',
    replace: 'if (looksUnchanged(write, config)) {',
  }),
  planted('E9', 'one term', {
    defect: 'driver: carries out only the first effect of an event',
    file: ELECTOR,
    find: 'for (const effect of effects) this.#carryOut(effect)',
    replace: 'for (const effect of effects.slice(0, 1)) this.#carryOut(effect)',
  }),
  planted('E10', 'one term', {
    defect: 'driver: sets no timer after an event',
    file: ELECTOR,
    find: '    this.#setTimer()\n    onState(state)',
    replace: '    onState(state)',
  }),
  planted('E11', 'one term', {
    defect: 'driver: takes a report of the watch for the answer to no request',
    file: ELECTOR,
    find: "changed: (snapshot) => this.#handle({ kind: 'observed', snapshot })",
    replace: 'changed: () => {}',
  }),
]
