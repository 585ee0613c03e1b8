import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O6. Also across a deletion of the lease. */
export const epochsGrow: Oracle = {
  id: 'O6',
  rule: 'Every term of a lease has a greater epoch than all before it.',
  judge(_run, violated) {
    let last: TermLife | undefined
    return (fact) => {
      if (fact.kind !== 'term-began') return
      if (last !== undefined && fact.term.epoch <= last.epoch) violated(`${fact.term.name} came after ${last.name}`)
      last = fact.term
    }
  },
}
