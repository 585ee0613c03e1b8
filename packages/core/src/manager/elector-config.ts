import { type LeaseOptions, resolveCleanupTimeoutMs } from '../candidacy/lease-options.ts'
import { resolveStrategy } from '../candidacy/strategy-options.ts'
import type { ElectorConfig } from '../election/machine/config.ts'
import { resolveTimingOptions } from '../election/timing-options.ts'
import type { ResolvedManagerOptions } from './manager-options.ts'

/** The settings of the elector of a lease. @throws OptionsError that names the wrong option of the lease. */
export function electorConfig(
  lease: LeaseOptions,
  { identity, revision, zone, rollout, featureGates, onWedged }: ResolvedManagerOptions,
): ElectorConfig {
  return {
    identity,
    timing: resolveTimingOptions(lease),
    releaseOnExit: featureGates.ReleaseLockOnExit.enabled,
    missingLease: lease.missingLease,
    cleanupTimeoutMs: resolveCleanupTimeoutMs(lease),
    onWedged,
    revision,
    zone,
    strategy: resolveStrategy(lease),
    isEager: rollout === 'eager',
    leavesEarly: rollout !== 'off',
    neverLeads: rollout === 'never-lead',
  }
}
