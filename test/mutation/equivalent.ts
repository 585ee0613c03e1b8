import { type Mutant, onOneLine, type Operator } from './mutant.ts'

/** A mutant that behaves like the original. The runner recognises it by its file, operator and text, not by its line. */
export interface EquivalentMutant {
  /** From the root of the project. */
  readonly file: string
  readonly operator: Operator
  /** The line of the source in which the change begins, without the space around it. */
  readonly line: string
  /** What the operator changes; space counts as one blank. */
  readonly before: string
  readonly after: string
  /** Why nothing that a user could see is different. */
  readonly reason: string
}

/** Every known mutant that changes nothing. `npm run mutation` fails for an entry without a place in the sources. */
export const EQUIVALENT: readonly EquivalentMutant[] = [
  {
    file: 'packages/core/src/election/machine/transition.ts',
    operator: 'ConditionalExpression',
    line: 'if (state.memory.candidate === undefined && before.memory.candidate === undefined) return step',
    before: 'state.memory.candidate === undefined',
    after: 'true',
    reason:
      'A replica becomes a candidate when it sends its answer, and warms up only when the answer stands in the lease. So the step in ' +
      'which it becomes a candidate neither begins nor ends a warm-up, and a term that begins had a candidate before.',
  },
  ...[
    { operator: 'ConditionalExpression', after: 'true' } as const,
    { operator: 'EqualityOperator', after: 'actNotBefore >= at.now' } as const,
  ].map((change) => ({
    file: 'packages/core/src/election/phases/acquiring.ts',
    line: 'actNotBefore: actNotBefore > at.now ? actNotBefore : undefined,',
    before: 'actNotBefore > at.now',
    reason: 'All that read it ask whether it is later than now. A moment that has come, or none, holds nothing back.',
    ...change,
  })),
  {
    file: 'packages/core/src/election/phases/reserving.ts',
    operator: 'EqualityOperator',
    line: 'const actNotBefore = notBefore > at.now ? notBefore : undefined',
    before: 'notBefore > at.now',
    after: 'notBefore >= at.now',
    reason: 'All that read it ask whether it is later than now. A moment that has come holds nothing back.',
  },
  {
    file: 'packages/core/src/election/phases/announcing.ts',
    operator: 'EqualityOperator',
    line: 'if (due === undefined || pace === undefined || before === undefined || pace <= before) return state',
    before: 'pace <= before',
    after: 'pace < before',
    reason: 'At the same pace, what is left of the wait stays as it is.',
  },
  {
    file: 'packages/core/src/election/phases/answering.ts',
    operator: 'MethodExpression',
    line: 'return { identity, nonce: `${memory.requests}-${at.random.toString(36).slice(2)}` }',
    before: 'at.random.toString(36).slice(2)',
    after: 'at.random.toString(36)',
    reason: 'A nonce only has to be unique. What the change adds is the same in every nonce.',
  },
  {
    file: 'packages/core/src/election/phases/releasing.ts',
    operator: 'MethodExpression',
    line: "return identity === undefined ? undefined : { identity, nonce: random.toString(36).slice(2) || '0' }",
    before: 'random.toString(36).slice(2)',
    after: 'random.toString(36)',
    reason: 'A nonce only has to be unique. What the change adds is the same in every nonce.',
  },
  {
    file: 'packages/core/src/term/bequests.ts',
    operator: 'EqualityOperator',
    line: 'return first > second ? a : b',
    before: 'first > second',
    after: 'first >= second',
    reason: 'Versions have no leading zeros, so equal versions are the same text.',
  },
]

/** The entry of the list that says that a mutant changes nothing. */
export function findEquivalent(
  mutant: Mutant,
  source: string,
  list: readonly EquivalentMutant[] = EQUIVALENT,
): EquivalentMutant | undefined {
  const line = source.split('\n')[mutant.line - 1]?.trim()
  return list.find(
    (known) =>
      known.file === mutant.file &&
      known.operator === mutant.operator &&
      known.line === line &&
      onOneLine(known.before) === onOneLine(mutant.before) &&
      onOneLine(known.after) === onOneLine(mutant.after),
  )
}
