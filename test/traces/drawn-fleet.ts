import { type ResolvedTimingOptions, resolveTimingOptions } from '@tenure/core/internal'
import { type FleetEdit, type FleetNetwork, mulberry32 } from '../../packages/core/test/election/fleet.ts'
import type { FleetKind } from './fleet-kinds.ts'

/** A fleet with settings in any combination, and how many replicas it has. */
export interface DrawnFleet {
  readonly kind: FleetKind
  readonly replicas: number
}

type Edits = readonly [FleetEdit, ...FleetEdit[]]

const NETWORKS: readonly (Partial<FleetNetwork> | undefined)[] = [
  undefined,
  { refused: 0.3, repeated: 0.7 },
  { unanswered: 0.2, broken: 0.2, last: 0.1 },
  { late: 0.4 },
  { lost: 0.2, late: 0.2, repeated: 0.3, broken: 0.1, last: 0.05 },
  { late: 0.3, unanswered: 0.3, repeated: 0.5 },
]

const EDITS: readonly (Edits | undefined)[] = [undefined, ['shorten'], ['clear'], ['clear', 'shorten']]

const EDITS_OF_COORDINATORS: readonly Edits[] = [
  ['name', 'switch'],
  ['name', 'name', 'switch'],
  ['name', 'clear', 'switch'],
  ['name', 'shorten'],
  ['name', 'name', 'shorten', 'clear', 'switch'],
]

const DURATIONS_MS = [4000, 15_000, 30_000] as const

/**
 * Draws the settings of a fleet. It leaves out what the specification does not cover: where another client deletes or clears the lease, the replicas
 * wait if there is none; and replicas have different durations only where no other client deletes, clears or shortens the lease.
 */
export function drawnFleet(seed: number): DrawnFleet {
  const random = mulberry32(seed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  const heldForLife = random() < 0.25
  const isCoordinated = !heldForLife && random() < 0.4
  const edits = pick<Edits | undefined>(isCoordinated ? EDITS_OF_COORDINATORS : EDITS)
  const mustWait = heldForLife || edits?.includes('clear') === true
  const missingLease = mustWait ? 'wait' : pick(['wait', 'create'] as const)
  const timing = (): ResolvedTimingOptions => {
    const leaseDurationMs = pick(DURATIONS_MS)
    const options = { leaseDurationMs, retryPeriodMs: pick([leaseDurationMs / 7.5, leaseDurationMs / 20, 400]) }
    const resolved = resolveTimingOptions({ ...options, acquireDelayMs: pick([0, 0, 0, 700]) })
    return heldForLife ? { ...resolved, wholeSecondPeers: false } : resolved
  }
  const network = pick(NETWORKS)
  const mayDiffer = edits === undefined && missingLease === 'create'
  const timings = mayDiffer && random() < 0.5 ? [timing(), timing()] : undefined
  const kind: FleetKind = {
    stalls: random() < 0.3,
    reusesIdentities: random() < 0.15,
    config: {
      timing: timing(),
      releaseOnExit: random() < 0.7,
      missingLease,
      ...(heldForLife && { heldForLife }),
      ...(isCoordinated && { coordination: 'server' as const }),
    },
    ...(edits && { edits }),
    ...(network && { network }),
    ...(timings && { timings }),
  }
  return { kind, replicas: pick([2, 3, 4, 5]) }
}
