/*
 * A sample is a fenced block of a document or a docstring. In Markdown, an HTML comment right before the block
 * may hold lines that the reader does not see. A line `…` says where the block belongs; without it the block comes last.
 *
 *     <!-- setup       the lines and the block together are a program, which runs
 *     <!-- fragment    the lines and the block together compile, and do not run
 *
 * Hidden lines complete a manifest in the same way.
 */

/** The lines around a block that the reader does not see. */
interface HiddenLines {
  readonly kind: 'setup' | 'fragment' | 'docstring'
  readonly before: readonly string[]
  readonly after: readonly string[]
}

export interface Sample {
  /** Path from the root of the repository. */
  readonly file: string
  /** Line of the file that holds the first line of the code, from 1. */
  readonly line: number
  /** The info string of the block. */
  readonly language: string
  readonly code: readonly string[]
  readonly hidden: HiddenLines | undefined
}

/** A document, or a source with docstrings. */
export interface SampleFile {
  readonly path: string
  readonly text: string
}

/** How a report names the sample. */
export function placeOf({ file, line, language }: Sample): string {
  return `${file}:${line} ${language}`
}

/** What is compiled, run or parsed: the block between its hidden lines. */
export function fullText({ code, hidden }: Sample): string {
  return `${[...(hidden?.before ?? []), ...code, ...(hidden?.after ?? [])].join('\n')}\n`
}

/** Where a line of {@link fullText} is in the file. Hidden lines count from the first line of the block as well. */
export function lineInFile({ line, hidden }: Sample, lineOfText: number): number {
  return line + lineOfText - 1 - (hidden?.before.length ?? 0)
}

/** A document as its readers see it. */
export function withoutHiddenLines(markdown: string): string {
  return markdown.replaceAll(/^ *<!-- (?:setup|fragment)$.*?^ *-->\n+/gms, '')
}

/** The samples of a Markdown document. @throws Error when a block or its hidden lines have no end */
export function samplesOfDocument({ path, text }: SampleFile): readonly Sample[] {
  const lines = text.split('\n')
  const samples: Sample[] = []
  let hidden: HiddenLines | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const comment = /^( *)<!-- (setup|fragment)$/.exec(line)
    const fence = /^( *)(`{3,})(.*)$/.exec(line)
    if (comment !== null) {
      const end = endOf('-->', { path, lines, from: at })
      const [, indent = '', kind] = comment
      hidden = hiddenLines(kind === 'setup' ? 'setup' : 'fragment', unindented(lines.slice(at + 1, end), indent))
      at = end
    } else if (fence !== null) {
      const [, indent = '', ticks = '', language = ''] = fence
      const end = endOf(ticks, { path, lines, from: at })
      const code = unindented(lines.slice(at + 1, end), indent)
      samples.push({ file: path, line: at + 2, language: language.trim(), code, hidden })
      hidden = undefined
      at = end
    } else if (line.trim() !== '' && hidden !== undefined) {
      throw new Error(`${path}:${at + 1}: hidden lines belong right before a block`)
    }
  }
  return samples
}

function endOf(mark: string, place: { path: string; lines: readonly string[]; from: number }): number {
  const end = place.lines.findIndex((line, at) => at > place.from && line.trim() === mark)
  if (end === -1) throw new Error(`${place.path}:${place.from + 1}: nothing closes this block with \`${mark}\``)
  return end
}

function unindented(lines: readonly string[], indent: string): readonly string[] {
  return lines.map((line) => line.slice(indent.length))
}

function hiddenLines(kind: HiddenLines['kind'], lines: readonly string[]): HiddenLines {
  const gap = lines.findIndex((line) => line.trim() === '…')
  if (gap === -1) return { kind, before: lines, after: [] }
  return { kind, before: lines.slice(0, gap), after: lines.slice(gap + 1) }
}

/** The samples in the docstrings of a source. They use what `world.ts` exports, named in `world`, without an import. */
export function samplesOfSource({ path, text }: SampleFile, world: ReadonlySet<string>): readonly Sample[] {
  return [...text.matchAll(/^ *\/\*\*$.*?^ *\*\/$/gms)].flatMap(({ 0: docstring, index }) => {
    const linesBefore = text.slice(0, index).split('\n').length - 1
    return samplesOfDocument({ path, text: docstring.replaceAll(/^ *\* ?/gm, '') }).map((sample) => ({
      ...sample,
      line: linesBefore + sample.line,
      hidden: { kind: 'docstring', before: [worldImport(sample.code.join('\n'), world)], after: [] },
    }))
  })
}

function worldImport(code: string, world: ReadonlySet<string>): string {
  const own = new Set(
    [...code.matchAll(/\b(?:const|let|class|function)\s+(\w+)|import\s*\{([^}]*)\}/g)].flatMap(namesIn),
  )
  const used = new Set(code.match(/\b[A-Za-z_]\w*\b/g) ?? [])
  const names = [...used].filter((name) => world.has(name) && !own.has(name))
  return `import { ${names.join(', ')} } from '${WORLD}'`
}

function namesIn([, declared, imported]: RegExpExecArray): readonly string[] {
  return declared === undefined ? (imported ?? '').split(',').map((name) => name.trim()) : [declared]
}

/** The module that stands for what surrounds an example. */
export const WORLD = '#world'
