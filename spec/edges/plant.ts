import { env } from 'node:process'
import { applyMutant } from '../../test/mutants/apply-mutant.ts'
import { plantSource } from '../../test/mutants/plant-source.ts'
import { PLANTED } from './planted.ts'

/** Loaded before a walk: plants the defect that `TENURE_PLANTED` names in the sources as they are loaded. No file is written. */
const defect = PLANTED.find(({ id }) => id === env['TENURE_PLANTED'])
if (defect === undefined) throw new Error(`There is no planted defect \`${env['TENURE_PLANTED']}\``)
plantSource(defect.file, (code) => applyMutant(defect, code))
