/** Successive seeds. */
export interface SeedExtent {
  readonly first: number
  readonly end: number
  /** Whether the fleets keep an EndpointSlice, and elect nobody. */
  readonly endpoints: boolean
}

/** The seeds of a process. */
export interface SeedRange extends SeedExtent {
  readonly step: number
}

/** The number of seeds that a process of a long run takes at once. */
export const RANGE = 100

/** One range for each process. Each has its share of every kind of fleet. */
export function interleaved(extent: SeedExtent, processes: number): readonly SeedRange[] {
  return Array.from({ length: processes }, (_, index) => ({
    ...extent,
    first: extent.first + index,
    step: processes,
  }))
}

/** Short ranges, one after the other. An interruption costs no more than one for each process. */
export function successive({ first, end, endpoints }: SeedExtent): readonly SeedRange[] {
  return Array.from({ length: Math.ceil((end - first) / RANGE) }, (_, index) => {
    const from = first + index * RANGE
    return { first: from, step: 1, end: Math.min(end, from + RANGE), endpoints }
  })
}

/** A name for the file of a run. */
export function nameOf(extents: readonly SeedExtent[]): string {
  return extents.map(({ first, end, endpoints }) => `${endpoints ? 'endpoints-' : ''}${first}-${end}`).join('-')
}
