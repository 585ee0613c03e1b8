import { type StoreWrite, writerOf } from '../store/store-write.ts'
import type { Oracle } from './oracle.ts'

/**
 * O4. A write is lost if a writer that read an older version of the key replaces it. The acknowledgement may come before or after. A
 * writer that never read the key may replace anything.
 */
export const noLostAdd: Oracle = {
  id: 'O4',
  rule: 'No acknowledged write is lost to a writer that has read an older version.',
  judge(_run, violated) {
    const keys = new Map<string, Ledger>()
    const ledgerOf = ({ key }: StoreWrite) => {
      const ledger = keys.get(key) ?? { unsettled: new Map(), acknowledged: new Set(), last: undefined }
      keys.set(key, ledger)
      return ledger
    }
    return {
      stored: ({ write }) => {
        const ledger = ledgerOf(write)
        const replaced = ledger.last
        ledger.last = write
        if (replaced === undefined || !isLost(replaced, write)) return
        const loss = `${writerOf(write)} overwrote \`${replaced.key}\` of ${writerOf(replaced)}, based on an older version`
        if (ledger.acknowledged.has(replaced.version)) violated(loss)
        else ledger.unsettled.set(replaced.version, loss)
      },
      acknowledged: ({ write }) => {
        const ledger = ledgerOf(write)
        const loss = ledger.unsettled.get(write.version)
        if (loss !== undefined) violated(loss)
        ledger.acknowledged.clear()
        ledger.acknowledged.add(write.version)
      },
    }
  },
}

interface Ledger {
  /** Writes that were overwritten before their acknowledgement. */
  readonly unsettled: Map<number, string>
  /** The newest acknowledged version. */
  readonly acknowledged: Set<number>
  last: StoreWrite | undefined
}

/** Whether a write replaces an older write that its writer has not read. A term may replace its own writes. */
function isLost(replaced: StoreWrite, { basedOn, term }: StoreWrite): boolean {
  return basedOn !== undefined && basedOn < replaced.version && replaced.term !== term
}
