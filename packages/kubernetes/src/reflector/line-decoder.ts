import { WatchInterruptedError } from './watch-interrupted-error.ts'

const NEWLINE = 0x0a

/** etcd stores no object larger than 1.5 MB. A much longer line is not an event. */
const MAX_LINE_BYTES = 16 * 1024 * 1024

/** Splits a stream of bytes into lines. A chunk may end anywhere, also inside a character. */
export class LineDecoder {
  #pending: Buffer[] = []
  #pendingBytes = 0

  /** Returns the non-empty lines that the chunk completes. @throws WatchInterruptedError if a line is too long */
  push(chunk: Buffer): string[] {
    const lines: string[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      this.#keep(chunk.subarray(start, end))
      lines.push(this.#take())
      start = end + 1
    }
    this.#keep(chunk.subarray(start))
    return lines.filter((line) => line.trim() !== '')
  }

  #keep(part: Buffer): void {
    this.#pending.push(part)
    this.#pendingBytes += part.byteLength
    if (this.#pendingBytes > MAX_LINE_BYTES) {
      throw new WatchInterruptedError(`The watch sent a line of more than ${MAX_LINE_BYTES} bytes`)
    }
  }

  #take(): string {
    const line = Buffer.concat(this.#pending).toString('utf8')
    this.#pending = []
    this.#pendingBytes = 0
    return line
  }
}
