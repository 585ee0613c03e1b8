import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { MONITORING, monitoringFiles } from './monitoring/monitoring.ts'
import { allPictures } from './pictures/pictures.ts'
import { Declarations } from './reference/declarations.ts'
import { referencePages } from './reference/reference.ts'
import { ROOT } from './stage.ts'

/* Writes what the documents have from the sources: the pictures, the tables of the reference, the files beside the alert rules. Tests compare. */
for (const [name, svg] of await allPictures()) await writeFile(join(ROOT, 'docs/pictures', name), svg)
for (const [name, page] of await referencePages(new Declarations())) {
  await writeFile(join(ROOT, 'docs/reference', name), page)
}
for (const [name, text] of await monitoringFiles()) await writeFile(join(MONITORING, name), text)
