import { env, stderr, stdin, stdout } from 'node:process'
import { systemClock, systemRandom } from '@tenure/core/internal'
import type { Terminal } from './terminal.ts'

/** The terminal of this process. Adds listeners to the process, which live as long as it. */
export function processTerminal(): Terminal {
  const interrupt = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => interrupt.abort(new Error(`Interrupted by ${signal}`)))
  endWithReader(interrupt)
  return {
    out: (text) => void stdout.write(text),
    err: (text) => void stderr.write(text),
    columns: stdout.isTTY ? stdout.columns : undefined,
    keys: stdin.isTTY && stdout.isTTY ? readKeys : undefined,
    env,
    clock: systemClock,
    random: systemRandom,
    interrupted: interrupt.signal,
  }
}

/** Reads single keys from the terminal. */
function readKeys(listener: (key: string) => void): () => void {
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) listener(key)
  }
  stdin.setRawMode(true).on('data', onData).resume()
  return () => void stdin.off('data', onData).pause().setRawMode(false)
}

/** A reader such as `head` may close the pipe. Then the command ends quietly. */
function endWithReader(interrupt: AbortController): void {
  const ended = (error: NodeJS.ErrnoException): void => {
    if (error.code !== 'EPIPE') throw error
    interrupt.abort(new OutputClosed())
  }
  stdout.on('error', ended)
  stderr.on('error', ended)
}

/** Nobody reads the output any more. */
export class OutputClosed extends Error {
  override readonly name = 'OutputClosed'

  constructor() {
    super('Nobody reads the output any more')
  }
}
