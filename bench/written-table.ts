import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { format, resolveConfig } from 'prettier'

const ROOT = join(import.meta.dirname, '..')
const END = '<!-- end of the table -->'

/**
 * Puts a table, its head first, into a document: between a comment with the command that writes it and the comment of its end.
 *
 * @param file relative to the root of the repository
 * @throws Error when the comments are not there
 */
export async function writeTable(
  file: string,
  command: string,
  [head = [], ...rows]: readonly (readonly string[])[],
): Promise<void> {
  const path = join(ROOT, file)
  const text = await readFile(path, 'utf8')
  const begin = `<!-- ${command} -->`
  const before = text.indexOf(begin) + begin.length
  const after = text.indexOf(END, before)
  if (before < begin.length || after === -1)
    throw new Error(`Expected ${file} to have the marks \`${begin}\` and \`${END}\``)
  const lines = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
  const written = `${text.slice(0, before)}\n\n${lines.join('\n')}\n\n${text.slice(after)}`
  await writeFile(path, await format(written, { ...(await resolveConfig(path)), filepath: path }))
}
