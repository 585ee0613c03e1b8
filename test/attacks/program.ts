import { type ChildProcess, spawn } from 'node:child_process'

/** How a program ended. */
export interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** Tenure refuses variables of its own that it does not know, such as those of its tests. */
function isForeign([name]: readonly [name: string, value: unknown]): boolean {
  return !name.startsWith('TENURE_')
}

/** A program in a process of its own, and what it writes. */
export class Program implements AsyncDisposable {
  readonly ended: Promise<ProgramEnd>
  readonly #child: ChildProcess
  readonly #waiting = new Set<() => void>()
  #output = ''

  constructor(file: string, env: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, ['--conditions=@tenure/source', file], {
      env: { ...Object.fromEntries(Object.entries(process.env).filter(isForeign)), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => this.#hear(text))
    }
    this.ended = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve({ code, signal })))
  }

  /** All that it has written. */
  get output(): string {
    return this.#output
  }

  /** Resolves when it has written what fits; rejects when it ends before. */
  async wrote(text: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const found = text.exec(this.#output)
      if (found !== null) return found
      const heard = new Promise<undefined>((resolve) => this.#waiting.add(() => resolve(undefined)))
      const end = await Promise.race([heard, this.ended])
      if (end !== undefined && !text.test(this.#output)) {
        throw new Error(`It ended with ${end.signal ?? `code ${end.code}`} before it wrote ${text}:\n${this.#output}`)
      }
    }
  }

  /** Sends SIGTERM once. */
  terminate(): Promise<ProgramEnd> {
    this.#child.kill('SIGTERM')
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL')
    await this.ended
  }

  #hear(text: string): void {
    this.#output += text
    for (const resume of this.#waiting) resume()
    this.#waiting.clear()
  }
}
