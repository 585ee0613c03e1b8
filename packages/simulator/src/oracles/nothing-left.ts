import type { ProcessLife } from '../process-life.ts'
import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O7. Checked when the next term of the process begins, and when code of an ended term acts. */
export const nothingLeft: Oracle = {
  id: 'O7',
  rule: 'Nothing of a term is left when the next one begins.',
  judge(_run, violated) {
    const past = new Map<ProcessLife, Set<TermLife>>()
    return {
      'term-began': ({ term }) => {
        const terms = past.get(term.process) ?? new Set()
        past.set(term.process, terms)
        for (const earlier of terms) {
          if (earlier.remains.length === 0) terms.delete(earlier)
          else violated(`${term.name} began, but ${earlier.name} has left: ${earlier.remains.join(', ')}`)
        }
        terms.add(term)
      },
      acted: ({ term, what }) => {
        if (term.isOver) violated(`${term.name} has ended, but its code still acts: ${what}`)
      },
      'process-ended': ({ process }) => past.delete(process),
    }
  },
}
