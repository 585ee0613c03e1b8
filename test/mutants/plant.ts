import { readFileSync } from 'node:fs'
import { env } from 'node:process'
import type { ChangedFile } from './changed-file.ts'
import { plantSource } from './plant-source.ts'

/** Loaded before a program: plants the defect of the file that `TENURE_MUTANT` names. */
const path = env['TENURE_MUTANT']
if (path !== undefined) {
  const { file, code } = JSON.parse(readFileSync(path, 'utf8')) as ChangedFile
  plantSource(file, () => code)
}
