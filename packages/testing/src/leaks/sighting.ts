import { isLibraryFrame, isNodeFrame, isOwnFrame, isTestRunnerFrame, isUserFrame } from './frame-owner.ts'
import { type Frame, placeOf } from './frame.ts'
import type { LeakKind } from './leak-kind.ts'
import type { Description, Entry } from './ledger.ts'
import type { ResolvedLeakWatchOptions } from './options.ts'
import { framesOf, rawFramesOf, siteOf, type Trace } from './trace.ts'

/** A thing that is there and should not be, with what there is to say about it. */
export interface Sighting {
  readonly entry: Entry
  readonly description: Description
  readonly frames: readonly Frame[]
  /** Empty where no frame shows the place. */
  readonly site: string
}

/** What exists once per process by design, for any first user. */
const PROCESS_WIDE = [
  /[\\/]undici[\\/]lib[\\/]util[\\/]timers\.js/,
  /[\\/]on-exit-leak-free[\\/]/,
  /[\\/]ops[\\/](?:src|dist)[\\/]metrics[\\/]process-metrics\./,
]

/** A library's timers on a connection, which is itself what is left. */
const CONNECTION_TIMERS = /[\\/]undici[\\/]lib[\\/]dispatcher[\\/]/

/**
 * What Node makes by itself, with nobody on the stack, when something happens to what was there before: it wires streams, and
 * accepts connections whose other end is what is left.
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

/** Modules of Node that listen to what they have just made: the standard streams when they are first read, and ports of threads. */
const WIRING = /^node:internal\/(?:bootstrap|worker)/
const EVENTS = new Set(['', 'node:events', 'node:internal/event_target', 'node:internal/streams/readable'])

/** What there is to say about an entry; undefined when it does not count. */
export function sightingOf(entry: Entry, options: ResolvedLeakWatchOptions): Sighting | undefined {
  if (isOfTestRunner(entry)) return undefined
  const description = entry.thing.describe()
  if (description === undefined || options.ignoredKinds.has(description.kind)) return undefined
  if (MADE_BY_NODE.has(description.kind) && isOfNode(entry, description.kind)) return undefined
  if (LISTENERS.has(description.kind) && isWiring(entry)) return undefined
  if (TIMERS.has(description.kind) && isOfConnection(entry)) return undefined
  const frames = bestFrames(entry)
  const lines = frames.map((frame) => `${frame.name} ${placeOf(frame)}`)
  if (lines.some((line) => isIgnored(line, options.ignoredSites))) return undefined
  const site = siteOf(frames)
  return { entry, description, frames, site: site === undefined ? '' : placeOf(site) }
}

/** Where it was created, roughly but cheaply: two things of the same place have the same one. */
export function roughSiteOf({ trace, origin }: Entry): string {
  const frame = siteOf(rawFramesOf(hasUserFrame(trace) ? trace : (origin.call ?? trace)))
  return frame === undefined ? '' : placeOf(frame)
}

function isOfTestRunner({ trace }: Entry): boolean {
  const creator = rawFramesOf(trace).find((frame) => isTestRunnerFrame(frame) || isLibraryFrame(frame))
  return creator !== undefined && isTestRunnerFrame(creator)
}

function isWiring({ trace }: Entry): boolean {
  const adder = rawFramesOf(trace).find((frame) => !isOwnFrame(frame) && !EVENTS.has(frame.file))
  return adder !== undefined && WIRING.test(adder.file)
}

function isOfConnection({ trace }: Entry): boolean {
  const setter = rawFramesOf(trace).find(isLibraryFrame)
  return setter !== undefined && CONNECTION_TIMERS.test(setter.file)
}

/** In a term as well Node listens by itself, to the sockets of a pool: what counts is the socket. */
function isOfNode({ trace, origin }: Entry, kind: LeakKind): boolean {
  const isOfRun = origin.run !== undefined && kind !== 'event-listener'
  return !isOfRun && origin.call === undefined && !rawFramesOf(trace).some(isLibraryFrame)
}

function isIgnored(line: string, sites: readonly (string | RegExp)[]): boolean {
  return [...PROCESS_WIDE, ...sites].some((site) =>
    typeof site === 'string' ? line.includes(site) : line.search(site) >= 0,
  )
}

/** What a library creates later shows nothing of the user on its own stack, but perhaps on that of the call that led there. */
function bestFrames({ trace, origin }: Entry): readonly Frame[] {
  const best = hasUserFrame(trace) ? trace : (origin.call ?? origin.start ?? trace)
  return framesOf(best).filter((frame) => !isOwnFrame(frame) && !isTestRunnerFrame(frame))
}

function hasUserFrame(trace: Trace): boolean {
  return rawFramesOf(trace).some(isUserFrame)
}

/** The lines of a stack that mean something to people. */
export function readableStack(frames: readonly Frame[]): readonly string[] {
  return frames
    .filter((frame) => !isNodeFrame(frame))
    .map((frame) => (frame.name === '' ? placeOf(frame) : `${frame.name} (${placeOf(frame)})`))
}
