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
    const ledgerOf = (key: string) => {
      const ledger = keys.get(key) ?? { unsettled: new Map(), acknowledged: new Set(), last: undefined }
      keys.set(key, ledger)
      return ledger
    }
    return (fact) => {
      if (fact.kind === 'stored') {
        const ledger = ledgerOf(fact.write.key)
        const lost = ledger.last
        const { basedOn, term, process } = fact.write
        ledger.last = fact.write
        if (lost === undefined || basedOn === undefined || basedOn >= lost.version) return
        // What a term replaces of its own it may have meant to.
        if (lost.term === term) return
        const loss = `\`${lost.key}\` as ${writerOf(lost)} wrote it was lost to ${term?.name ?? process}, who had read an older version`
        if (ledger.acknowledged.has(lost.version)) violated(loss)
        else ledger.unsettled.set(lost.version, loss)
      } else if (fact.kind === 'acknowledged') {
        const ledger = ledgerOf(fact.write.key)
        const loss = ledger.unsettled.get(fact.write.version)
        if (loss !== undefined) violated(loss)
        ledger.acknowledged.clear()
        ledger.acknowledged.add(fact.write.version)
      }
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

function writerOf({ term, process }: StoreWrite): string {
  return term?.name ?? process
}
