import { stdin, stdout, stderr, env } from 'node:process'
import { systemClock, systemRandom } from '@tenure/core/internal'
import type { Terminal } from './terminal.ts'

/** The keys that end a program. In raw mode the terminal sends no signal for them. */
const CTRL_C = '\u0003'

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
    hasColors: hasColors(),
    env,
    clock: systemClock,
    random: systemRandom,
    interrupted: interrupt.signal,
    ...(stdin.isTTY && { onKey: (listener) => readKeys(listener, interrupt) }),
  }
}

/** As https://no-color.org: a variable that is set and not empty turns colours off. */
function hasColors(): boolean {
  if (env['NO_COLOR']) return false
  return env['FORCE_COLOR'] ? env['FORCE_COLOR'] !== '0' : stdout.isTTY && stdout.hasColors(env)
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

function readKeys(listener: (key: string) => void, interrupt: AbortController): () => void {
  const onData = (data: Buffer): void => {
    for (const key of data.toString('utf8')) {
      if (key === CTRL_C) interrupt.abort(new Error('Interrupted'))
      else listener(key)
    }
  }
  stdin.setRawMode(true).on('data', onData).resume()
  return () => void stdin.off('data', onData).setRawMode(false).pause()
}
