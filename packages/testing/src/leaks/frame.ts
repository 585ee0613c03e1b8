import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** One line of a stack. */
export interface Frame {
  /** Empty for an anonymous function. */
  readonly name: string
  /** A path, a `file:` URL, or a module of Node such as `node:net`. */
  readonly file: string
  /** The line, from 1. */
  readonly line: number
  /** The column, from 1. */
  readonly column: number
}

const FRAME = /^\s*at (?:async )?(?:(.*?) \()?((?:file:\/\/|node:|[A-Za-z]:[\\/]|\/)[^()]*?):(\d+):(\d+)\)?$/

/** The frames of a formatted stack, innermost first. Lines without a place are omitted. */
export function parseStack(stack: string): readonly Frame[] {
  return stack.split('\n').flatMap((text) => {
    const [, name = '', file, line, column] = FRAME.exec(text) ?? []
    return file === undefined ? [] : [{ name, file, line: Number(line), column: Number(column) }]
  })
}

/** The place of a frame, `file:line:column`, relative to the working directory if the file is inside it. */
export function placeOf({ file, line, column }: Frame): string {
  const path = file.startsWith('file://') ? fileURLToPath(file) : file
  const short = relative(process.cwd(), path)
  return `${path.startsWith('node:') || short.startsWith('..') ? path : short}:${line}:${column}`
}
