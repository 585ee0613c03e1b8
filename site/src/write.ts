import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allPictures } from './pictures/pictures.ts'
import { Declarations } from './reference/declarations.ts'
import { referencePages } from './reference/reference.ts'
import { ROOT } from './stage.ts'

/* Writes what the documents have from the sources: the pictures and the tables of the reference. Tests compare. */
for (const [name, svg] of await allPictures()) await writeFile(join(ROOT, 'docs/pictures', name), svg)
for (const [name, page] of await referencePages(new Declarations())) {
  await writeFile(join(ROOT, 'docs/reference', name), page)
}
