import { registerHooks } from 'node:module'
import { env } from 'node:process'
import { applyMutant } from '../../test/mutants/apply-mutant.ts'
import { PLANTED } from './planted.ts'

/** Loaded before a walk: plants the defect that `TENURE_PLANTED` names in the sources as they are loaded. No file is written. */
const defect = PLANTED.find(({ id }) => id === env['TENURE_PLANTED'])
if (defect === undefined) throw new Error(`There is no planted defect \`${env['TENURE_PLANTED']}\``)
const url = new URL(`../../${defect.file}`, import.meta.url).href

registerHooks({
  load(asked, context, next) {
    const loaded = next(asked, context)
    if (asked !== url) return loaded
    const { source } = loaded
    if (source === undefined || source === null) throw new Error(`Expected the source of ${defect.file}`)
    const code = typeof source === 'string' ? source : new TextDecoder().decode(source)
    return { ...loaded, source: applyMutant(defect, code) }
  },
})
