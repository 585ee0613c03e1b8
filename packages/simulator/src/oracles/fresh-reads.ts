import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O10. Counts from `synced` on. */
export const freshReads: Oracle = {
  id: 'O10',
  rule: 'A term whose cache is synced reads nothing older than the acknowledged writes of earlier terms.',
  judge(_run, violated) {
    const acknowledged = new Map<string, number>()
    const due = new WeakMap<TermLife, ReadonlyMap<string, number>>()
    return {
      acknowledged: ({ write: { key, version } }) => {
        acknowledged.set(key, Math.max(version, acknowledged.get(key) ?? 0))
      },
      'term-began': ({ term }) => due.set(term, new Map(acknowledged)),
      'cache-read': ({ term, key, version }) => {
        const written = due.get(term)?.get(key) ?? 0
        if (version < written)
          violated(
            `${term.name} read version ${version} of \`${key}\`, but version ${written} had been written before it`,
          )
      },
    }
  },
}
