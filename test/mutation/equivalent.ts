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
