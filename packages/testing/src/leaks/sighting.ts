import { isLibraryFrame, isNodeFrame, isOwnFrame, isTestRunnerFrame, isUserFrame } from './frame-owner.ts'
import { type Frame, placeOf } from './frame.ts'
import type { LeakKind } from './leak-kind.ts'
import type { Description, Entry } from './ledger.ts'
import type { ResolvedLeakWatchOptions } from './options.ts'
import { framesOf, rawFramesOf, siteOf, type Trace } from './trace.ts'

/** A thing that still exists and should not, with its description. */
export interface Sighting {
  readonly entry: Entry
  readonly description: Description
  readonly frames: readonly Frame[]
  /** Empty if no frame shows the place. */
  readonly site: string
}

/** Code that creates something once per process by design. */
const PROCESS_WIDE = [
  /[\\/]undici[\\/]lib[\\/]util[\\/]timers\.js/,
  /[\\/]on-exit-leak-free[\\/]/,
  /[\\/]ops[\\/](?:src|dist)[\\/]metrics[\\/]process-metrics\./,
]

/** Timers of a library on a connection. The connection itself is the leak. */
const CONNECTION_TIMERS = /[\\/]undici[\\/]lib[\\/]dispatcher[\\/]/

/**
 * Kinds that Node also creates on its own, without user code on the stack: it connects streams and accepts connections. For an
 * accepted connection, the other end is the leak.
 */
const MADE_BY_NODE = new Set<LeakKind>([
  'process-listener',
  'event-listener',
  'event-target-listener',
  'abort-listener',
  'accepted-socket',
  'tls-socket',
])

const TIMERS = new Set<LeakKind>(['timeout', 'interval', 'immediate'])
const LISTENERS = new Set<LeakKind>(['event-listener', 'event-target-listener'])

/** Modules of Node that add listeners to their own objects: the standard streams on first read, and ports of threads. */
const WIRING = /^node:internal\/(?:bootstrap|worker)/
const EVENTS = new Set(['', 'node:events', 'node:internal/event_target', 'node:internal/streams/readable'])

/** The sighting of an entry, or undefined if the entry does not count. */
export function sightingOf(entry: Entry, options: ResolvedLeakWatchOptions): Sighting | undefined {
  if (isOfTestRunner(entry)) return undefined
  const description = entry.thing.describe()
  if (description === undefined || options.ignoredKinds.has(description.kind)) return undefined
  if (isSideEffect(entry, description.kind)) return undefined
  const frames = bestFrames(entry)
  const lines = frames.map((frame) => `${frame.name} ${placeOf(frame)}`)
  if (lines.some((line) => isIgnored(line, options.ignoredSites))) return undefined
  const site = siteOf(frames)
  return { entry, description, frames, site: site === undefined ? '' : placeOf(site) }
}

/** The approximate place of the creation, cheap to compute. Two things from the same place have the same rough site. */
export function roughSiteOf({ trace, origin }: Entry): string {
  const frame = siteOf(rawFramesOf(hasUserFrame(trace) ? trace : (origin.call ?? trace)))
  return frame === undefined ? '' : placeOf(frame)
}

function isOfTestRunner({ trace }: Entry): boolean {
  const creator = rawFramesOf(trace).find((frame) => isTestRunnerFrame(frame) || isLibraryFrame(frame))
  return creator !== undefined && isTestRunnerFrame(creator)
}

/** Whether Node or a library made it on its own, for something that is tracked itself. */
function isSideEffect(entry: Entry, kind: LeakKind): boolean {
  return (
    (MADE_BY_NODE.has(kind) && isOfNode(entry, kind)) ||
    (LISTENERS.has(kind) && isWiring(entry)) ||
    (TIMERS.has(kind) && isOfConnection(entry))
  )
}

function isWiring({ trace }: Entry): boolean {
  const adder = rawFramesOf(trace).find((frame) => !isOwnFrame(frame) && !EVENTS.has(frame.file))
  return adder !== undefined && WIRING.test(adder.file)
}

function isOfConnection({ trace }: Entry): boolean {
  const setter = rawFramesOf(trace).find(isLibraryFrame)
  return setter !== undefined && CONNECTION_TIMERS.test(setter.file)
}

/** Node also adds listeners to pooled sockets during a term. Only the socket counts. */
function isOfNode({ trace, origin }: Entry, kind: LeakKind): boolean {
  const isOfRun = origin.run !== undefined && kind !== 'event-listener'
  return !isOfRun && origin.call === undefined && !rawFramesOf(trace).some(isLibraryFrame)
}

function isIgnored(line: string, sites: readonly (string | RegExp)[]): boolean {
  return [...PROCESS_WIDE, ...sites].some((site) =>
    typeof site === 'string' ? line.includes(site) : line.search(site) >= 0,
  )
}

/** A library may create something later without user code on the stack. Then the stack of the original call may show it. */
function bestFrames({ trace, origin }: Entry): readonly Frame[] {
  const best = hasUserFrame(trace) ? trace : (origin.call ?? origin.start ?? trace)
  return framesOf(best).filter((frame) => !isOwnFrame(frame) && !isTestRunnerFrame(frame))
}

function hasUserFrame(trace: Trace): boolean {
  return rawFramesOf(trace).some(isUserFrame)
}

/** The lines of a stack that help a reader. */
export function readableStack(frames: readonly Frame[]): readonly string[] {
  return frames
    .filter((frame) => !isNodeFrame(frame))
    .map((frame) => (frame.name === '' ? placeOf(frame) : `${frame.name} (${placeOf(frame)})`))
}
