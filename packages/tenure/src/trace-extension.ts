import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'
import { hostname } from 'node:os'
import { type Extension, type Logger, OptionsError } from '@tenure/core'
import { textOf, TRACE_CHANNEL, type TraceStep, TraceWriter } from '@tenure/core/internal'

/** A trace of this process, while managers use it. */
interface OpenTrace {
  users: number
  readonly close: () => void
}

/** The open traces, by their path. All managers of a process share one. */
const traces = new Map<string, OpenTrace>()

/**
 * Writes what every elector of this process sees, sends and does to a file, as lines of JSON for `tenure check-trace`. Every start of a
 * process makes a new file: `FILE`, or `FILE.1`, `FILE.2` and so on if it exists. A line is in the file before its write is sent. If the file
 * cannot be written any more, the trace ends with a warning, and the process goes on.
 */
export function traceExtension(path: string, logger: Logger): Extension {
  return {
    name: 'trace',
    start() {
      const trace = traces.get(path) ?? { users: 0, close: openTrace(path, logger) }
      trace.users += 1
      traces.set(path, trace)
    },
    stop() {
      const trace = traces.get(path)
      if (trace === undefined) return
      trace.users -= 1
      if (trace.users > 0) return
      traces.delete(path)
      trace.close()
    },
  }
}

/** Begins a trace. The returned function ends it. @throws OptionsError if the file cannot be made */
function openTrace(path: string, logger: Logger): () => void {
  const file = openNew(path)
  const writer = new TraceWriter({
    machine: machineName(),
    machineTime: () => Number(process.hrtime.bigint()) / 1e6,
    write: (lines) => void writeSync(file, lines),
  })
  const take = (step: unknown): void => {
    // Node ends the process for an error of a subscriber.
    try {
      writer.take(step as TraceStep)
    } catch (err) {
      unsubscribe(TRACE_CHANNEL, take)
      logger.warn({ event: 'trace-ended', path, err }, `the trace in ${path} ends here: ${textOf(err)}`)
    }
  }
  subscribe(TRACE_CHANNEL, take)
  return () => {
    unsubscribe(TRACE_CHANNEL, take)
    closeSync(file)
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

/** The start of this machine, or its name. The containers of one machine share its clock. */
function machineName(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    return hostname()
  }
}
