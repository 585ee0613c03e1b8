import type { StoreWrite } from '../store/store-write.ts'
import type { Oracle } from './oracle.ts'

/**
 * O4. An add is lost when a writer who has read the key, but not that add, replaces it. Acknowledgement may come before or after
 * that. A writer that has never read the key means to replace whatever is there.
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
        const loss = `\`${replaced.key}\` as ${writerOf(replaced)} wrote it was lost to ${writerOf(write)}, who had read an older version`
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
  /** Writes that were lost before their writer knew of them. */
  readonly unsettled: Map<number, string>
  /** The newest acknowledged version. */
  readonly acknowledged: Set<number>
  last: StoreWrite | undefined
}

/** Whether a write replaces one that its writer has not read. A term may mean to replace what it wrote itself. */
function isLost(replaced: StoreWrite, { basedOn, term }: StoreWrite): boolean {
  return basedOn !== undefined && basedOn < replaced.version && replaced.term !== term
}

function writerOf({ term, process }: StoreWrite): string {
  return term?.name ?? process
}
