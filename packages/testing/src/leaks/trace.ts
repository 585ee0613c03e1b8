import { isLibraryFrame, isUserFrame } from './frame-owner.ts'
import { type Frame, parseStack } from './frame.ts'
import { type CallSiteData, ReplayedCallSite } from './replayed-call-site.ts'

/**
 * The creation stack of something, innermost frame first, without source maps. Unlike an `Error`, it retains no function and no
 * receiver.
 */
export type Trace = readonly CallSiteData[]

const DEPTH = 60

/**
 * Takes the current stack, including the callers that await it.
 *
 * Does not map the frames to their sources: that takes the test runner much longer, and few traces are ever shown.
 */
export function takeTrace(): Trace {
  const { stackTraceLimit } = Error
  const prepareStackTrace: unknown = Reflect.get(Error, 'prepareStackTrace')
  const holder: { stack?: Trace } = {}
  try {
    Error.stackTraceLimit = DEPTH
    Error.prepareStackTrace = toTrace
    Error.captureStackTrace(holder, takeTrace)
    return holder.stack ?? []
  } finally {
    Error.stackTraceLimit = stackTraceLimit
    Reflect.set(Error, 'prepareStackTrace', prepareStackTrace)
  }
}

/** The frames, innermost first, mapped to the sources if the test runner supports it. */
export function framesOf(trace: Trace): readonly Frame[] {
  return trace.map(mapped)
}

/** The frames without source maps: cheap, and enough to see which module created something. */
export function rawFramesOf(trace: Trace): readonly Frame[] {
  return trace.map(toFrame)
}

/** The most useful frame: the innermost frame of user code, otherwise of a library. */
export function siteOf(frames: readonly Frame[]): Frame | undefined {
  return frames.find(isUserFrame) ?? frames.find(isLibraryFrame)
}

/** Native frames have no script. */
function toTrace(_error: Error, sites: readonly NodeJS.CallSite[]): Trace {
  return sites.map((site) => ({
    functionName: site.getFunctionName() ?? '',
    scriptName: site.getFileName() ?? '',
    lineNumber: site.getLineNumber() ?? 0,
    columnNumber: site.getColumnNumber() ?? 0,
  }))
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
