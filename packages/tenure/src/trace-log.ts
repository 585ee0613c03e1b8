import { closeSync, openSync, writeSync } from 'node:fs'
import { textOf } from '@tenure/core/internal'
import { OptionsError } from '@tenure/core'

/** How long a line may wait before it is in the file, in milliseconds. */
const MOST_WAIT_MS = 100

/** How many bytes may wait. A longer text is written at once. */
const BUFFER_BYTES = 1 << 16

/**
 * A file of lines that does not write each of them for itself. A process that is killed loses at most what was added in the last
 * {@link MOST_WAIT_MS} and was not urgent. What is in the file outlives the process, not the machine.
 */
export class TraceLog {
  readonly #file: number
  readonly #failed: (error: unknown) => void
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #used = 0
  #timer: NodeJS.Timeout | undefined

  /** `failed` is called if the file cannot be written later. @throws OptionsError if it cannot be made */
  constructor(path: string, failed: (error: unknown) => void) {
    this.#file = openNew(path)
    this.#failed = failed
  }

  /** Adds lines. They are in the file when this returns if they are urgent. @throws what the system says if it cannot be written */
  add(lines: string, isUrgent: boolean): void {
    // A character of UTF-16 takes three bytes at most.
    if (this.#used + lines.length * 3 > BUFFER_BYTES) this.flush()
    if (lines.length * 3 > BUFFER_BYTES) return this.#write(Buffer.from(lines))
    this.#used += this.#buffer.write(lines, this.#used)
    if (isUrgent) this.flush()
    else this.#timer ??= setTimeout(() => this.#tryFlush(), MOST_WAIT_MS).unref()
  }

  /** Writes what waits. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lines = this.#buffer.subarray(0, this.#used)
    this.#used = 0
    this.#write(lines)
  }

  /** Writes what waits and closes the file. */
  close(): void {
    try {
      this.#tryFlush()
    } finally {
      closeSync(this.#file)
    }
  }

  #tryFlush(): void {
    try {
      this.flush()
    } catch (error) {
      this.#failed(error)
    }
  }

  #write(lines: Uint8Array): void {
    for (let written = 0; written < lines.length;) written += writeSync(this.#file, lines, written)
  }
}

/** A path that is tried no further: something else is wrong. */
const MOST_FILES = 10_000

function openNew(path: string): number {
  for (let number = 0; number < MOST_FILES; number += 1) {
    const file = tryOpen(number === 0 ? path : `${path}.${number}`)
    if (file !== undefined) return file
  }
  throw new OptionsError(
    `Expected \`TENURE_TRACE\` to name a new file, got \`${path}\`, which exists with ${MOST_FILES} numbers. Remove old traces`,
  )
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, 'ax', 0o600)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return undefined
    throw new OptionsError(
      `Expected \`TENURE_TRACE\` to name a file that can be written, got \`${path}\`: ${textOf(cause)}`,
      {
        cause,
      },
    )
  }
}
