import { resolveTimingOptions } from '@tenure/core/internal'
import type { FleetOptions } from '../../packages/core/test/election/fleet.ts'

/** The settings of a fleet of pure machines, but for the seed. */
export type FleetKind = Omit<FleetOptions, 'seed' | 'replicas' | 'machine'>

const timing = resolveTimingOptions()

/** Fleets with deletions, crashes, partitions, suspensions, proofs of death and transfers. */
export const FLEET_KINDS: Readonly<Record<string, FleetKind>> = {
  plain: { stalls: false, config: { timing, releaseOnExit: true, missingLease: 'create' } },
  deleted: { stalls: false, config: { timing, releaseOnExit: true, missingLease: 'wait' } },
  'no release': { stalls: false, config: { timing, releaseOnExit: false, missingLease: 'wait' } },
  cautious: {
    stalls: false,
    config: {
      timing: resolveTimingOptions({ retryPeriodMs: 400, acquireDelayMs: 700 }),
      releaseOnExit: true,
      missingLease: 'wait',
    },
  },
  'same names': {
    stalls: false,
    reusesIdentities: true,
    config: { timing, releaseOnExit: true, missingLease: 'create' },
  },
  'for life': {
    stalls: false,
    config: {
      timing: { ...timing, wholeSecondPeers: false },
      releaseOnExit: true,
      missingLease: 'wait',
      heldForLife: true,
    },
  },
  suspended: { stalls: true, config: { timing, releaseOnExit: true, missingLease: 'wait' } },
}
