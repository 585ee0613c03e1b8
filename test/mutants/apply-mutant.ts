import type { Mutant } from './mutants.ts'

/** The text of a file with the defect. @throws Error unless the text to change occurs exactly once. */
export function applyMutant({ id, file, find, replace }: Mutant, code: string): string {
  const places = code.split(find).length - 1
  if (places !== 1) {
    throw new Error(
      `Expected the text that mutant ${id} changes to be in ${file} once, but it is there ${places} times`,
    )
  }
  return code.split(find).join(replace)
}
