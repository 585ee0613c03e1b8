import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O3. Judged when the write leaves the process. */
export const releaseWhenEmpty: Oracle = {
  id: 'O3',
  rule: 'A lease is released or handed on only when no task of the term is left.',
  judge(_run, violated) {
    const terms = new Set<TermLife>()
    return (fact) => {
      switch (fact.kind) {
        case 'term-began':
          terms.add(fact.term)
          break
        case 'lease-given-up':
          for (const term of terms) {
            if (term.process !== fact.process || term.lease !== fact.lease || !term.hasTasks) continue
            violated(`${fact.process.identity} gave up the lease while ${term.name} runs ${term.tasks.join(', ')}`)
          }
          break
        case 'process-ended':
          for (const term of terms) if (term.process === fact.process) terms.delete(term)
          break
        case 'term-over':
          if (!fact.term.hasTasks) terms.delete(fact.term)
          break
        default:
      }
    }
  },
}
