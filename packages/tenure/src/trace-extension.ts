import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import type { Extension, Logger } from '@tenure/core'
import { textOf, TRACE_CHANNEL, type TraceStep, TraceWriter } from '@tenure/core/internal'
import { TraceLog } from './trace-log.ts'

/** A trace of this process, while managers use it. */
interface OpenTrace {
  users: number
  readonly close: () => void
}

/** The open traces, by their path. All managers of a process share one. */
const traces = new Map<string, OpenTrace>()

/**
 * Writes what every elector of this process sees, sends and does to a file, as lines of JSON for `tenure check-trace`. Every start of a
 * process makes a new file: `FILE`, or `FILE.1`, `FILE.2` and so on if it exists. A line is in the file before the elector acts: before it sends a
 * request, and before a term begins, goes on or ends. Other lines may wait for 100 ms. If the file cannot be written any more, the trace ends with
 * a warning, and the process goes on.
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
  const ends = (err: unknown): void => {
    unsubscribe(TRACE_CHANNEL, take)
    logger.warn({ event: 'trace-ended', path, err }, `the trace in ${path} ends here: ${textOf(err)}`)
  }
  const log = new TraceLog(path, ends)
  const writer = new TraceWriter({
    machine: machineName(),
    machineTime: () => Number(process.hrtime.bigint()) / 1e6,
    write: (lines, isActing) => log.add(lines, isActing),
  })
  const take = (step: unknown): void => {
    // Node ends the process for an error of a subscriber.
    try {
      writer.take(step as TraceStep)
    } catch (err) {
      ends(err)
    }
  }
  const close = (): void => {
    unsubscribe(TRACE_CHANNEL, take)
    process.removeListener('exit', close)
    log.close()
  }
  process.on('exit', close)
  subscribe(TRACE_CHANNEL, take)
  return close
}

/** Names the clock of the machine: its start and the time namespace of the process, or the name of the machine where the system has neither. */
function machineName(): string {
  try {
    return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}${timeNamespace()}`
  } catch {
    return hostname()
  }
}

/** Empty where the system has none: all containers of the machine share one clock. */
function timeNamespace(): string {
  try {
    return ` ${readlinkSync('/proc/self/ns/time')}`
  } catch {
    return ''
  }
}
