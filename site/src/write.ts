import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { allPictures } from './pictures/pictures.ts'
import { ROOT } from './stage.ts'

/* Writes what the documents have from the sources: the pictures. Tests compare. */
await mkdir(join(ROOT, 'docs/pictures'), { recursive: true })
for (const [name, svg] of await allPictures()) await writeFile(join(ROOT, 'docs/pictures', name), svg)
