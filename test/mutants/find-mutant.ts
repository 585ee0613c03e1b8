import { FURTHER_DEFECTS, KNOWN_DEFECTS, type Mutant } from './mutants.ts'

/** Every mutant, in order. */
export const MUTANTS: readonly Mutant[] = [...KNOWN_DEFECTS, ...FURTHER_DEFECTS]

/** The mutant with this id. Undefined without an id. */
export function findMutant(id: string | undefined): Mutant | undefined {
  if (id === undefined) return undefined
  const mutant = MUTANTS.find((one) => one.id === id)
  if (mutant === undefined) throw new Error(`There is no mutant ${id}`)
  return mutant
}
