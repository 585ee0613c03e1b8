import { getCallSites } from 'node:util'
import { isLibraryFrame, isUserFrame } from './frame-owner.ts'
import { type Frame, parseStack } from './frame.ts'
import { type CallSiteData, ReplayedCallSite } from './replayed-call-site.ts'

/**
 * Where something was created: as taken, without source maps, or as formatted text where only that shows the awaiting callers.
 * Neither retains a function or a receiver, which a kept `Error` would.
 */
export type Trace = { readonly sites: readonly CallSiteData[] } | { readonly stack: string }

const DEPTH = 60

/**
 * Takes the present stack.
 *
 * Structured call sites cost a sixth of a formatted stack where source maps are applied, but do not show the async callers; the
 * formatted stack is taken only where no user code is on the synchronous one.
 */
export function takeTrace(): Trace {
  const sites = getCallSites(DEPTH, { sourceMap: false }).map(toSite)
  if (sites.some((site) => isUserFrame({ file: site.scriptName }))) return { sites }
  const stack = takeStack()
  return stack === undefined ? { sites } : { stack }
}

/** The frames, innermost first, mapped to the sources where the test runner knows how. */
export function framesOf(trace: Trace): readonly Frame[] {
  if ('stack' in trace) return parseStack(trace.stack)
  return trace.sites.map(mapped)
}

/** The frames without source maps: cheap, and enough to see which module created something. */
export function rawFramesOf(trace: Trace): readonly Frame[] {
  return 'stack' in trace ? parseStack(trace.stack) : trace.sites.map(toFrame)
}

/** The frame that a person looks for: the innermost one of their own code, else of a library. */
export function siteOf(frames: readonly Frame[]): Frame | undefined {
  return frames.find(isUserFrame) ?? frames.find(isLibraryFrame)
}

function takeStack(): string | undefined {
  const holder: { stack?: string } = {}
  const limit = Error.stackTraceLimit
  try {
    Error.stackTraceLimit = DEPTH
    Error.captureStackTrace(holder, takeTrace)
    return holder.stack
  } catch {
    return undefined // Formatting runs the hook of the test runner, which may fail on frames that it does not know.
  } finally {
    Error.stackTraceLimit = limit
  }
}

/** Native frames have no script. */
function toSite(site: ReturnType<typeof getCallSites>[number]): CallSiteData {
  const { functionName, scriptName, lineNumber, columnNumber }: Partial<typeof site> = site
  return {
    functionName: functionName ?? '',
    scriptName: scriptName ?? '',
    lineNumber: lineNumber ?? 0,
    columnNumber: columnNumber ?? 0,
  }
}

function toFrame({ functionName, scriptName, lineNumber, columnNumber }: CallSiteData): Frame {
  return { name: functionName, file: scriptName, line: lineNumber, column: columnNumber }
}

const frames = new Map<string, Frame>()

/** The frame in the source. A place is looked up once: thousands of things may come from the same one. */
function mapped(site: CallSiteData): Frame {
  const key = `${site.scriptName}:${site.lineNumber}:${site.columnNumber}`
  const known = frames.get(key)
  if (known !== undefined) return known
  const frame = mappedByRunner(site) ?? toFrame(site)
  frames.set(key, frame)
  return frame
}

/** Test runners that compile sources on the fly install `Error.prepareStackTrace`, which takes call sites back to the source. */
function mappedByRunner(site: CallSiteData): Frame | undefined {
  const prepare: unknown = Reflect.get(Error, 'prepareStackTrace')
  if (typeof prepare !== 'function') return undefined
  try {
    const text: unknown = prepare.call(Error, new Error('trace'), [new ReplayedCallSite(site)])
    return typeof text === 'string' ? parseStack(text)[0] : undefined
  } catch {
    return undefined
  }
}
