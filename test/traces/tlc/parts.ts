import type { TraceHeader, TraceLine } from '@tenure/core/internal'

/** What a trace consists of. */
export type TracePart = TraceLine | TraceHeader

/** The headers and the steps of a trace, each in their order. */
export function partsOf(parts: readonly TracePart[]): {
  readonly headers: readonly TraceHeader[]
  readonly steps: readonly TraceLine[]
} {
  return {
    headers: parts.filter((part): part is TraceHeader => !('p' in part)),
    steps: parts.filter((part): part is TraceLine => 'p' in part),
  }
}
