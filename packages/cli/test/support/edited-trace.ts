import type { TraceAct, TraceWrite } from '@tenure/core/internal'
import { checkLines } from '../../../../test/traces/check-lines.ts'
import { isStep, type Lines, type Mutable, stepsOf, writeIn } from '../../../../test/traces/corruption.ts'
import type { TracedElector } from './traced-elector.ts'

/** A step that a test may edit. */
export type Step = Exclude<Lines[number], { readonly elector: number }>

/** The lines of a traced elector, to be edited. */
export function linesOf({ lines }: TracedElector): Lines {
  return lines.map((line) => JSON.parse(line) as Lines[number])
}

/** The findings about edited lines. */
export function checkEdited(lines: Lines): readonly string[] {
  const texts = lines.map((line) => JSON.stringify(line))
  return checkLines('edited.trace', texts).findings.map(({ rule, message }) => `${rule}: ${message}`)
}

/** The findings about the trace of an elector whose last step is edited. */
export function checkWithLast(elector: TracedElector, edit: (last: Step, lines: Lines) => void): readonly string[] {
  const lines = linesOf(elector)
  edit(lastOf(lines), lines)
  return checkEdited(lines)
}

/** The findings about the trace of an elector whose last step sends a write, which is edited. */
export function checkWithWrite(
  elector: TracedElector,
  purpose: TraceWrite['u'],
  edit: (record: Mutable<TraceWrite['r']>, write: Mutable<TraceWrite>) => void,
): readonly string[] {
  return checkWithLast(elector, (last) => {
    const write = writeIn(last, purpose)
    if (write === undefined) throw new Error(`Expected ${JSON.stringify(last)} to send a write to ${purpose}`)
    edit(write.r, write)
  })
}

/** The last step. */
export function lastOf(lines: Lines): Step {
  const last = stepsOf(lines).at(-1)
  if (last === undefined) throw new Error('Expected a step')
  return last.line
}

/** Adds an act to a step. */
export function adds(step: Step, act: TraceAct): void {
  step.d = [...(step.d ?? []), act as Mutable<TraceAct>]
}

/** The header of the first elector. */
export function headerOf(lines: Lines): object {
  const header = lines.find((line) => !isStep(line))
  if (header === undefined) throw new Error('Expected a header')
  return header
}
