import { REACHED } from './reached.ts'
import { isNode, type Node, placesOf } from './syntax-tree.ts'

/** What a mark calls the part of a file that runs when the file is loaded. */
const OUTSIDE = -1

const FUNCTIONS: ReadonlySet<string> = new Set(['ArrowFunctionExpression', 'FunctionDeclaration', 'FunctionExpression'])

/** The source of a file in which every function notes that it runs. */
export function withMarks(file: string, source: string): string {
  const marks = functionsOf(file, source)
    .flatMap(({ start, body }) => insertions(source, `${file} ${start}`, body))
    .toSorted((a, b) => a.at - b.at)
  let marked = ''
  let end = 0
  for (const { at, text } of marks) {
    marked += source.slice(end, at) + text
    end = at
  }
  return `${marked}${source.slice(end)}\n;${noting(`${file} ${OUTSIDE}`)};\n`
}

/** The name of the innermost function around a part of a file. */
export function functionAt(
  file: string,
  source: string,
  part: { readonly start: number; readonly end: number },
): string {
  const around = functionsOf(file, source).filter(({ start, end }) => start <= part.start && part.end <= end)
  return `${file} ${Math.max(OUTSIDE, ...around.map(({ start }) => start))}`
}

interface Insertion {
  readonly at: number
  readonly text: string
}

function insertions(source: string, name: string, { type, start, end }: Node): readonly Insertion[] {
  if (type === 'BlockStatement') return [{ at: source.indexOf('{', start) + 1, text: `${noting(name)};` }]
  return [
    { at: start, text: `(${noting(name)}, ` },
    { at: end, text: ')' },
  ]
}

function noting(name: string): string {
  return `globalThis.${REACHED}?.add(${JSON.stringify(name)})`
}

function functionsOf(
  file: string,
  source: string,
): readonly { readonly start: number; readonly end: number; readonly body: Node }[] {
  return placesOf(file, source).flatMap(({ node: { type, start, end, body } }) =>
    FUNCTIONS.has(type) && isNode(body) ? [{ start, end, body }] : [],
  )
}
