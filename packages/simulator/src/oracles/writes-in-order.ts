import type { StoreWrite } from '../store/store-write.ts'
import type { Oracle } from './oracle.ts'

/** O2. The term is the one whose code sent the write, fenced or not. */
export const writesInOrder: Oracle = {
  id: 'O2',
  rule: 'Once a term has written a key, no write of an earlier term is accepted for it.',
  judge(_run, violated) {
    const newest = new Map<string, StoreWrite>()
    return {
      stored: ({ write }) => {
        const { key, term, epoch } = write
        if (term === undefined) return
        const last = newest.get(key)
        if (last?.term === undefined || last.term.epoch <= term.epoch) {
          newest.set(key, write)
          return
        }
        const fence = epoch === undefined ? 'without an epoch' : `with epoch ${epoch}`
        violated(`${term.name} wrote \`${key}\` ${fence} after ${last.term.name} had written it`)
      },
    }
  },
}
