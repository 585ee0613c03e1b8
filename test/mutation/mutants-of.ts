import type { Mutant } from './mutant.ts'
import { changesOf } from './operators.ts'
import { placesOf } from './syntax-tree.ts'

/** All mutants of a source file, in the order of their places. */
export function mutantsOf(file: string, source: string): readonly Mutant[] {
  const mutants = new Map<string, Mutant>()
  for (const place of placesOf(file, source)) {
    for (const { operator, node, after } of changesOf(place, source)) {
      const { start, end } = node
      const before = source.slice(start, end)
      const line = source.slice(0, start).split('\n').length
      // Two operators may do the same.
      const change = `${start} ${end} ${after}`
      if (before !== after && !mutants.has(change))
        mutants.set(change, { file, line, operator, start, end, before, after })
    }
  }
  return [...mutants.values()]
}
