import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O15. The view of a term is what it has read last of each key, by a request or from a cache, synced or not. A refused write is no act. */
export const freshActs: Oracle = {
  id: 'O15',
  rule: 'No term writes while its view of any key is older than what earlier terms had written before it began.',
  judge(_run, violated) {
    const newest = new Map<string, number>()
    const due = new WeakMap<TermLife, ReadonlyMap<string, number>>()
    return {
      'term-began': ({ term }) => due.set(term, new Map(newest)),
      stored: ({ write: { key, version, term, views } }) => {
        newest.set(key, version)
        if (term === undefined) return
        for (const [viewed, seen] of views) {
          const written = due.get(term)?.get(viewed) ?? 0
          if (seen >= written) continue
          violated(
            `${term.name} wrote \`${key}\` with version ${seen} of \`${viewed}\` in view, but version ${written} had been written before it`,
          )
        }
      },
    }
  },
}
