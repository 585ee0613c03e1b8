import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { deflateRawSync } from 'node:zlib'
import { TRACE_CHANNEL, type TraceStep, TraceWriter } from '@tenure/core/internal'
import { SimulatedProcess } from './cluster/simulated-process.ts'
import type { TraceLine } from './trace.ts'

/** Records what the electors of simulated processes see, send and do, as lines of a trace in the order of true time, until `end()`. */
export function recordElectors(): { readonly lines: readonly string[]; end(): void } {
  const lines: string[] = []
  const writer = new TraceWriter({
    machine: 'simulation',
    machineTime: ({ clock }) => (clock instanceof SimulatedProcess ? clock.trueTime : 0),
    write: (text) => lines.push(...text.trimEnd().split('\n')),
  })
  const take = (message: unknown): void => {
    const step = message as TraceStep
    // The rest of a turn still runs in a process that has just ended.
    if (step.elector.clock instanceof SimulatedProcess && step.elector.clock.isAlive) writer.take(step)
  }
  subscribe(TRACE_CHANNEL, take)
  return { lines, end: () => unsubscribe(TRACE_CHANNEL, take) }
}

/** What the lines of the electors say as well, and requests for the lease. */
const KNOWN = /^(?:starts$|is [a-z]+$|begins |term \d|sends: (?!get |put |raise |list$))/

/** The other events of the run, as lines of the same file. */
export function notesOf(trace: readonly TraceLine[]): readonly string[] {
  return trace
    .filter(({ text }) => !KNOWN.test(text))
    .map(({ at, subject, text }) => JSON.stringify({ m: Math.round(at * 1000) / 1000, by: subject, note: text }))
}

/** The part of the address after `#` with which the page of the simulator opens these lines. */
export function linkOf(steps: readonly string[]): string {
  const text = steps.map((line) => `${line}\n`).join('')
  return `trace=${deflateRawSync(JSON.stringify([text])).toString('base64url')}`
}
