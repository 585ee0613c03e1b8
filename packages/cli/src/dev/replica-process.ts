import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { OwnedProcesses } from '@tenure/core/internal'
import { pause, type Terminal } from '../terminal.ts'

/** A process of a replica, with all that it has started. */
export interface ReplicaProcess {
  readonly pid: number | undefined
  /** Resolves when the first process has ended, with how: `exited with 1`, `was ended by SIGKILL`. Never rejects. */
  readonly ended: Promise<string>
  /** Sends a signal to every process that is left. */
  signal(signal: NodeJS.Signals): void
  /** Whether any process is left. */
  isLeft(): boolean
  /** Resolves when the output has been read. Called when no process is left. */
  close(): Promise<void>
}

/** What to start, and who gets its output. */
export interface ReplicaCommand {
  readonly file: string
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  /** Gets every line of the output. */
  readonly onLine: (line: string, stream: 'out' | 'err') => void
}

/** How long output may be read after the last known process has ended. */
const OUTPUT_MS = 1000

/** Starts a process in a session of its own. A guard kills it, and all that it has started, if this process dies. */
export function startReplicaProcess(
  owned: OwnedProcesses,
  { file, args, env, onLine }: ReplicaCommand,
  terminal: Pick<Terminal, 'clock'>,
): ReplicaProcess {
  const { started, family, forget } = owned.start(() => spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] }))
  createInterface({ input: started.stdout }).on('line', (line) => onLine(line, 'out'))
  createInterface({ input: started.stderr }).on('line', (line) => onLine(line, 'err'))
  const closed = new AbortController()
  once(started, 'close').then(
    () => closed.abort(),
    () => closed.abort(),
  )
  return {
    pid: started.pid,
    ended: endOf(started),
    signal: (signal) => void family.signal(signal),
    isLeft: () => family.running().length > 0,
    close: async () => {
      await pause(terminal, OUTPUT_MS, closed.signal)
      for (const stream of [started.stdout, started.stderr]) stream.destroy()
      forget()
    },
  }
}

function endOf(child: ChildProcess): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  child.once('error', (error) => {
    if (child.pid === undefined) resolve(`could not be started: ${error.message}`)
  })
  child.once('exit', (code, signal) => resolve(signal === null ? `exited with ${code}` : `was ended by ${signal}`))
  return promise
}
