import { OptionsError } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import type { Command } from 'commander'
import { closeSync, openSync, writeSync } from 'node:fs'
import { addClusterCommand, type ClusterFlags } from '../add-command.ts'
import { Cluster } from '../cluster/cluster.ts'
import { readLease } from '../cluster/leases.ts'
import { followLeases } from '../status/lease-stream.ts'
import type { Invocation, Terminal } from '../terminal.ts'
import { sightings } from './sightings.ts'
import { type RecordedSighting, WatchLog } from './watch-log.ts'

/** How often expiries are looked for. */
const TICK_MS = 250

/** The flags of `tenure watch`. */
interface WatchFlags extends ClusterFlags {
  readonly allNamespaces?: boolean
  readonly record?: string
}

/** Adds `tenure watch`. */
export function addWatch(program: Command, { terminal }: Invocation): void {
  addClusterCommand(program, {
    usage: 'watch [lease]',
    does: 'print the changes of leaders as they happen, with gaps and durations, until Ctrl-C',
    examples: ['tenure watch -A', 'tenure watch janitor -n ops --record handover.jsonl'],
  })
    .option('-A, --all-namespaces', 'watch the leases of all namespaces')
    .option('--record <file>', 'append what is seen to this file, for `tenure replay`')
    .action((name: string | undefined, flags: WatchFlags) => watch(name, flags, terminal))
}

async function watch(name: string | undefined, flags: WatchFlags, terminal: Terminal): Promise<void> {
  if (name !== undefined && flags.allNamespaces === true)
    throw new OptionsError('Expected either the name of a lease or `--all-namespaces`')
  const cluster = Cluster.open(flags, terminal)
  try {
    if (name !== undefined) await readLease(cluster, name)
    const recording = new Recording(flags.record)
    try {
      const log = new WatchLog(terminal.out)
      const take = (sighting: RecordedSighting): void => {
        recording.write(sighting)
        log.take(sighting)
      }
      const namespace = flags.allNamespaces === true ? '' : cluster.namespace
      const stop = every(TICK_MS, terminal, () => log.expire(terminal.clock.wallTime()))
      try {
        await followLeases({ cluster, namespace, name, ...sightings(take, terminal) }, terminal)
      } finally {
        stop()
      }
    } finally {
      recording[Symbol.dispose]()
    }
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

/** Calls `action` again and again. The returned function ends that. */
function every(ms: number, { clock }: Terminal, action: () => void): () => void {
  const again = (): void => {
    action()
    timer = clock.setTimer(ms, again)
  }
  let timer = clock.setTimer(ms, again)
  return () => timer.cancel()
}

/** The file of a recording, if there is one. A line is on disk before the next one is printed. */
class Recording implements Disposable {
  readonly #file: number | undefined

  constructor(path: string | undefined) {
    this.#file = path === undefined ? undefined : openFile(path)
  }

  write(sighting: RecordedSighting): void {
    if (this.#file !== undefined) writeSync(this.#file, `${JSON.stringify(sighting)}\n`)
  }

  [Symbol.dispose](): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (cause) {
    throw new Error(`Could not write the recording: ${textOf(cause)}. Choose a writable path with \`--record\`.`, {
      cause,
    })
  }
}
