import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O6. It also holds across a deletion of the lease. */
export const epochsGrow: Oracle = {
  id: 'O6',
  rule: 'Every term of a lease has a greater epoch than all before it.',
  judge(_run, violated) {
    let last: TermLife | undefined
    return {
      'term-began': ({ term }) => {
        if (last !== undefined && term.epoch <= last.epoch) violated(`${term.name} came after ${last.name}`)
        last = term
      },
    }
  },
}
