import type { ProcessLife } from '../process-life.ts'
import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O7. Judged when the next term of the process begins, and whenever code of an ended term acts. */
export const nothingLeft: Oracle = {
  id: 'O7',
  rule: 'Nothing of a term is left when it is over and the next one begins.',
  judge(_run, violated) {
    const past = new Map<ProcessLife, Set<TermLife>>()
    return (fact) => {
      switch (fact.kind) {
        case 'term-began': {
          const { process } = fact.term
          const terms = past.get(process) ?? new Set()
          past.set(process, terms)
          for (const term of terms) {
            if (term.remains.length === 0) terms.delete(term)
            else violated(`${fact.term.name} began while this is left of ${term.name}: ${term.remains.join(', ')}`)
          }
          terms.add(fact.term)
          break
        }
        case 'acted':
          if (fact.term.isOver) violated(`${fact.term.name} is over, but its code still acts: ${fact.what}`)
          break
        case 'process-ended':
          past.delete(fact.process)
          break
        default:
      }
    }
  },
}
