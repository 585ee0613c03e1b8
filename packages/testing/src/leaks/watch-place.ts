import { placeOf } from './frame.ts'
import { framesOf, siteOf, type Trace } from './trace.ts'

/** Where a watch began: all that there is to say about the place of what nobody saw being made. */
export interface WatchPlace {
  /** `file:line:column`, or the file of a test. */
  readonly site: string
  /** The test, where the watch is that of a test runner. */
  readonly test: string | undefined
}

const UNKNOWN = 'an unknown place'

/** The place of the caller whose stack this is. */
export function placeOfCall(trace: Trace): WatchPlace {
  const frame = siteOf(framesOf(trace))
  return { site: frame === undefined ? UNKNOWN : placeOf(frame), test: undefined }
}
