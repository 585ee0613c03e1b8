import { type EventEmitter, getEventListeners, once } from 'node:events'
import { readdirSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { getHeapSpaceStatistics, queryObjects, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { register } from 'prom-client'
import type { ProcessManager } from 'tenure'
import { bus, root } from './controllers.ts'

setFlagsFromString('--expose-gc')
// What belongs to compiled code lies among the objects. Constants, scopes and feedback are to be there from the start and to stay;
// and no code is to depend on shapes of objects, each of which keeps a list that grows whenever V8 optimizes again.
for (const flag of ['no-flush-bytecode', 'no-lazy-feedback-allocation', 'no-maglev', 'no-turbofan']) {
  setFlagsFromString(`--${flag}`)
}
// A buffer from the pool would hold a slab of 64 KiB, which is counted whole.
Buffer.poolSize = 0
const collect = runInNewContext('gc') as () => void

/** The resources of this process between two terms, after garbage collection. */
export interface Census {
  /** The term that has just ended. */
  readonly term: number
  /** Bytes of the objects on the heap and of their external memory, without compiled code. */
  readonly heapBytes: number
  readonly rssBytes: number
  /** The number of objects of each class; undefined if they were not counted. */
  readonly objects: Counts | undefined
  /** The counts that must be the same as at the start. */
  readonly counts: Counts
}

/** How many there are, by name. */
export type Counts = Readonly<Record<string, number>>

/** The options of a census. */
export interface CensusOptions {
  readonly term: number
  readonly withObjects: boolean
}

/** The time until a closed socket is gone. */
const TIME_TO_CLOSE_MS = 30

/** Counts the resources of the process. */
export async function takeCensus(manager: ProcessManager, { term, withObjects }: CensusOptions): Promise<Census> {
  const registered = await countRegistered(manager)
  await sleep(TIME_TO_CLOSE_MS)
  await collectGarbage()
  const { external, rss } = process.memoryUsage()
  return {
    term,
    heapBytes: bytesOfObjects() + external,
    rssBytes: rss,
    counts: { ...countHandles(), ...countListeners(), ...registered },
    objects: withObjects ? countObjects() : undefined,
  }
}

function bytesOfObjects(): number {
  return getHeapSpaceStatistics().reduce(
    (total, { space_name: name, space_used_size: bytes }) => total + (OBJECT_SPACES.has(name) ? bytes : 0),
    0,
  )
}

const OBJECT_SPACES: ReadonlySet<string> = new Set([
  'new_space',
  'old_space',
  'large_object_space',
  'new_large_object_space',
])

/** Collects garbage several times, with a turn of the event loop in between for finalizers and freed buffers. */
async function collectGarbage(): Promise<void> {
  for (let round = 0; round < 3; round++) {
    collect()
    await turn()
  }
}

/** Handles that keep the process alive, by kind, and descriptors. */
export function countHandles(): Counts {
  const counts: Record<string, number> = { descriptors: countDescriptors() }
  for (const kind of process.getActiveResourcesInfo()) {
    counts[`handle.${kind}`] = (counts[`handle.${kind}`] ?? 0) + 1
  }
  return counts
}

function countDescriptors(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return 0
  }
}

/** Listeners on objects that exist as long as the process. */
function countListeners(): Counts {
  const ofProcess = listenersOf(process)
  return {
    'listeners.process': ofProcess,
    'listeners.bus': listenersOf(bus),
    'listeners.root': getEventListeners(root.signal, 'abort').length,
  }
}

function listenersOf(emitter: EventEmitter): number {
  return emitter.eventNames().reduce((total, name) => total + emitter.listenerCount(name), 0)
}

const timer = setTimeout(() => {}, 0)
clearTimeout(timer)

/** Classes to count. An unref'd timer shows nowhere else, and a small object is lost in the bytes. */
const CLASSES: Readonly<Record<string, new (...args: never[]) => unknown>> = {
  objects: Object,
  timers: timer.constructor as new () => unknown,
}

function countObjects(): Counts {
  return Object.fromEntries(
    Object.entries(CLASSES).map(([name, type]) => [name, queryObjects(type, { format: 'count' })]),
  )
}

/** The metrics of the operations port without those of the process, and the global registry of prom-client. */
async function countRegistered(manager: ProcessManager): Promise<Counts> {
  const [page, livez, readyz] = await Promise.all(
    ['/metrics', '/livez?verbose', '/readyz?verbose'].map(fetchFrom(manager)),
  )
  return {
    'metrics.series': count(page, /^(?!#|nodejs_|process_)\S/gm),
    'metrics.global': register.getMetricsAsArray().length,
    'health.livez': count(livez, /^\[.\]/gm),
    'health.readyz': count(readyz, /^\[.\]/gm),
  }
}

function count(text: string | undefined, pattern: RegExp): number {
  return text?.match(pattern)?.length ?? 0
}

/** Requests over a new connection, which closes with the answer. */
function fetchFrom(manager: ProcessManager): (path: string) => Promise<string> {
  const { port } = manager.ops?.address ?? { port: 0 }
  return async (path) => {
    const call = get({ host: '127.0.0.1', port, path, agent: false })
    const [response] = (await once(call, 'response')) as [IncomingMessage]
    const chunks: Buffer[] = []
    response.on('data', (chunk: Buffer) => chunks.push(chunk))
    await once(call, 'close')
    return Buffer.concat(chunks).toString()
  }
}
