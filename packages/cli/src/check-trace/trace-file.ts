import { textOf } from '@tenure/core/internal'
import { closeSync, openSync, readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'

/** How much of a file is read at once, in bytes. */
const CHUNK_BYTES = 1 << 17

/** The lines of a file, a part at a time. A last line without its end is left out: its process was killed while it wrote. */
function* linesOf(path: string): Generator<readonly string[], void, undefined> {
  const file = open(path)
  try {
    const decoder = new StringDecoder('utf8')
    const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
    let rest = ''
    for (let read = readChunk(path, file, chunk); read > 0; read = readChunk(path, file, chunk)) {
      const lines = (rest + decoder.write(chunk.subarray(0, read))).split('\n')
      rest = lines.pop() ?? ''
      if (lines.length > 0) yield lines
    }
    // What an elector began to write is the beginning of an object.
    if (rest !== '' && !rest.startsWith('{')) yield [rest]
  } finally {
    closeSync(file)
  }
}

function open(path: string): number {
  try {
    return openSync(path, 'r')
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** Reads on. The path may be that of a folder. */
function readChunk(path: string, file: number, chunk: Buffer): number {
  try {
    return readSync(file, chunk)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

function unreadable(path: string, cause: unknown): Error {
  return new Error(`Could not read the trace ${path}: ${textOf(cause)}.`, { cause })
}

/** The lines of one file, parsed one after the other. */
export class TraceFile {
  /** The path, and the number of the present line, from 1. The same object for all lines. */
  readonly place: { readonly file: string; line: number }
  /** The present line; undefined at the end, and for a line that is no JSON. */
  value: unknown
  /** The time of the machine at the present line. A line without a time has that of the line before it. */
  machineAt: number = -Infinity
  isOver = false
  readonly #parts: Iterator<readonly string[], void, undefined>
  #part: readonly string[] = []
  #next = 0

  constructor(path: string, parts: Iterable<readonly string[]> = linesOf(path)) {
    this.place = { file: path, line: 0 }
    this.#parts = parts[Symbol.iterator]() as Iterator<readonly string[], void, undefined>
  }

  /** Goes on to the next line. */
  advance(): void {
    const text = this.#nextText()
    if (text === undefined) {
      this.isOver = true
      this.value = undefined
      return
    }
    this.place.line += 1
    this.value = parse(text)
    const machineAt = timeOf(this.value)
    if (machineAt !== undefined && machineAt > this.machineAt) this.machineAt = machineAt
  }

  #nextText(): string | undefined {
    while (this.#next >= this.#part.length) {
      const { done, value } = this.#parts.next()
      if (done === true) return undefined
      this.#part = value
      this.#next = 0
    }
    const text = this.#part[this.#next]
    this.#next += 1
    return text
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function timeOf(value: unknown): number | undefined {
  const { m } = (value ?? {}) as { readonly m?: unknown }
  return typeof m === 'number' ? m : undefined
}
