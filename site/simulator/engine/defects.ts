import type { Action, ScriptStep } from './script.ts'

/** A defect that a reader can plant. */
export interface Defect {
  /** As in the table of mutants, or of the defects that the simulator has to find. */
  readonly id: string
  /** What the code is that a mutant replaces. Undefined: this simulator plants it itself, where it stands for the candidacy. */
  readonly form: 'expression' | 'statement' | undefined
  readonly title: string
  /** How to make two terms overlap. */
  readonly recipe: string
  /** The same as a script. */
  readonly script: readonly ScriptStep[]
}

const step = (at: number, action: Action, replica: number): ScriptStep => ({ at, action, replica })

/** The defects of the page: one for a pause, one for the end of a term, one for a clock. */
export const DEFECTS: readonly Defect[] = [
  {
    id: 'B5',
    form: 'statement',
    title: 'The guard of a write does not look at the clock',
    recipe:
      'Pause the leader until another replica leads, then let it continue. It writes before it hears of the new leader.',
    script: [step(3000, 'pause', 1), step(10_000, 'resume', 1)],
  },
  {
    id: 'O3',
    form: undefined,
    title: 'A leader gives the lease up while its task still runs',
    recipe: 'Step the leader down, or cut it off. Another replica leads beside the rest of its term.',
    script: [step(3000, 'step-down', 1)],
  },
  {
    id: 'B30',
    form: 'expression',
    title: 'A follower compares the wall clocks of two machines',
    recipe: 'Make the wall clock of a follower fast. It takes the lease from a leader that is well.',
    script: [step(3000, 'skew', 2)],
  },
]
