import { resolveTimingOptions } from '@tenure/core/internal'
import type { FleetOptions } from '../../packages/core/test/election/fleet.ts'

/** The settings of a fleet of pure machines, but for the seed. */
export type FleetKind = Omit<FleetOptions, 'seed' | 'replicas' | 'machine'>

const timing = resolveTimingOptions()

const FOR_LIFE = {
  timing: { ...timing, wholeSecondPeers: false },
  releaseOnExit: true,
  missingLease: 'wait',
  heldForLife: true,
} as const

/** Fleets with deletions, crashes, partitions, suspensions, proofs of death, transfers, edits and a coordinator. */
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
    config: FOR_LIFE,
  },
  'late views': {
    stalls: false,
    network: { refused: 0.3, repeated: 0.7 },
    config: { timing, releaseOnExit: true, missingLease: 'create' },
  },
  'lost answers': {
    stalls: false,
    network: { unanswered: 0.2, broken: 0.2, last: 0.1 },
    config: { timing, releaseOnExit: true, missingLease: 'create' },
  },
  brief: {
    stalls: false,
    config: {
      timing: resolveTimingOptions({ leaseDurationMs: 4000 }),
      releaseOnExit: true,
      missingLease: 'create',
    },
  },
  shortened: { stalls: false, edits: ['shorten'], config: { timing, releaseOnExit: true, missingLease: 'create' } },
  cleared: { stalls: false, edits: ['clear'], config: { timing, releaseOnExit: true, missingLease: 'wait' } },
  'for life, cleared': {
    stalls: false,
    edits: ['clear'],
    config: FOR_LIFE,
  },
  'for life, rolled out': {
    stalls: false,
    timings: [{ ...resolveTimingOptions({ leaseDurationMs: 30_000 }), wholeSecondPeers: false }, FOR_LIFE.timing],
    config: FOR_LIFE,
  },
  coordinated: {
    stalls: false,
    edits: ['name', 'name', 'switch'],
    config: { timing, releaseOnExit: true, missingLease: 'create', coordination: 'server' },
  },
  'coordinated, late views': {
    stalls: true,
    edits: ['name', 'name', 'switch'],
    network: { refused: 0.3, repeated: 0.7 },
    config: {
      timing: resolveTimingOptions({ leaseDurationMs: 4000 }),
      releaseOnExit: false,
      missingLease: 'wait',
      coordination: 'server',
    },
  },
  'rolled out': {
    stalls: true,
    network: { unanswered: 0.2, broken: 0.2, last: 0.1 },
    timings: [resolveTimingOptions({ leaseDurationMs: 30_000 }), resolveTimingOptions({ leaseDurationMs: 4000 })],
    config: { timing, releaseOnExit: true, missingLease: 'create' },
  },
  'cleared, late views': {
    stalls: false,
    edits: ['clear', 'shorten'],
    network: { lost: 0.1, late: 0.2, repeated: 0.5, broken: 0.1, last: 0.05 },
    config: { timing: resolveTimingOptions({ leaseDurationMs: 4000 }), releaseOnExit: true, missingLease: 'wait' },
  },
  suspended: { stalls: true, config: { timing, releaseOnExit: true, missingLease: 'wait' } },
}
