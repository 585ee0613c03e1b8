import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'

const README = join(import.meta.dirname, '../../packages/testing/README.md')
const BEGIN = '<!-- npm run bench:detectors -- --readme -->'
const END = '<!-- end of the table -->'

/** Puts a table, its head first, between the marks in the README of the package. @throws Error when the marks are not there */
export async function writeTable([head = [], ...rows]: readonly (readonly string[])[]): Promise<void> {
  const text = await readFile(README, 'utf8')
  const [before, after] = [text.indexOf(BEGIN) + BEGIN.length, text.indexOf(END)]
  if (before < BEGIN.length || after < before) throw new Error(`Expected ${README} to have the marks of the table`)
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const written = `${text.slice(0, before)}\n\n${lines.join('\n')}\n\n${text.slice(after)}`
  await writeFile(README, await format(written, { ...(await resolveConfig(README)), filepath: README }))
}
