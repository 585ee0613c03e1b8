import { stripVTControlCharacters } from 'node:util'

/** A column of a table. */
export interface Column<T> {
  readonly title: string
  readonly text: (row: T) => string
}

const GAP = '   '

/**
 * Lays rows out as a table. A terminal that is too narrow for it gets one block of lines for each row, with each line cut at its width.
 * Without a width nothing is cut, so that programs can read it.
 */
export function table<T>(columns: readonly Column<T>[], rows: readonly T[], width: number | undefined): string {
  const cells = rows.map((row) => columns.map(({ text }) => printable(text(row))))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, index) =>
    Math.max(...[title, ...cells.map((row) => row[index] ?? '')].map(widthOf)),
  )
  const total = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1))
  if (width !== undefined && total > width) return blocks(titles, cells, width)
  return [titles, ...cells]
    .map(
      (row) =>
        `${row
          .map((cell, at) => padded(cell, widths[at] ?? 0))
          .join(GAP)
          .trimEnd()}\n`,
    )
    .join('')
}

function blocks(titles: readonly string[], cells: readonly (readonly string[])[], width: number): string {
  const label = Math.max(...titles.map(widthOf))
  const lines = (row: readonly string[]): string =>
    titles.map((title, at) => `${cut(`${padded(title, label)} ${row[at] ?? ''}`.trimEnd(), width)}\n`).join('')
  return cells.map(lines).join('\n')
}

/** Text of other clients must not control the terminal. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replaceAll(/\p{Cc}/gu, '�')
}

/** The text, cut to a number of columns. */
function cut(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}

function padded(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

function widthOf(text: string): number {
  return Array.from(text).length
}
