import type { TermLife } from '../term-life.ts'
import type { Oracle } from './oracle.ts'

/** O12. To be named in the lease by an election controller, or by anybody else, is not enough. */
export const entitledToAct: Oracle = {
  id: 'O12',
  rule: 'A replica acts only while a write of its own that took effect, or a transfer that it has answered, makes it the holder.',
  judge(_run, violated) {
    const judgeAct = ({ term }: { readonly term: TermLife }) => {
      const { isEntitled, isExcused } = term.process
      if (!isEntitled && !isExcused) violated(`${term.name} acts, although no write makes it the holder`)
    }
    return { 'task-began': judgeAct, acted: judgeAct }
  },
}
