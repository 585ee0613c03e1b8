import { placeOf } from './frame.ts'
import { framesOf, siteOf, type Trace } from './trace.ts'

/** The place where a watch began. The report shows it for a leak whose creation was not recorded. */
export interface WatchPlace {
  /** `file:line:column`, or the file of a test. */
  readonly site: string
  /** The test, if a test runner began the watch. */
  readonly test: string | undefined
}

const UNKNOWN = 'an unknown place'

/** The place of the caller whose stack this is. */
export function placeOfCall(trace: Trace): WatchPlace {
  const frame = siteOf(framesOf(trace))
  return { site: frame === undefined ? UNKNOWN : placeOf(frame), test: undefined }
}
