import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import { nextWakeAt } from '../../src/election/machine/transition.ts'
import type { ResolvedTimingOptions } from '../../src/election/timing-options.ts'
import { lease, PureElector } from './pure-elector.ts'

/*
 * The schedules that the relations of the timing options are there for, played to the machine of production. The options are
 * taken as they are, without any check.
 */

/**
 * For how many milliseconds two replicas lead when the first is cut off right after its last renewal, on the slowest clock that
 * is tolerated, and its tasks use their grace to the end. Zero or less: never; that is how early the first one's tasks are gone.
 */
export function overlapAfterCutOffMs(timing: ResolvedTimingOptions): number {
  const rate = 1 - timing.clockRateTolerance
  const leader = new PureElector(configOf('a', timing))
  leader.lead()
  const abortedAt = firstTimeOf(leader, 'hard-abort', timing.leaseDurationMs * 2)
  const emptyAt = (abortedAt + timing.abortGraceMs) / rate

  const follower = new PureElector(configOf('b', timing))
  follower.follow(lease({ ...leader.all('write')[0]?.write.record, version: 2n }))
  const takenAt = firstTimeOf(follower, 'write', timing.leaseDurationMs * 2)
  follower.acknowledge(3n)
  follower.as('leading')
  return emptyAt - takenAt
}

/** Whether a term goes on when a single renewal is lost and everything else is answered at once. */
export function survivesOneLostRenewal(timing: ResolvedTimingOptions): boolean {
  const elector = new PureElector(configOf('a', timing))
  elector.lead()
  const sentAt = firstTimeOf(elector, 'write', timing.leaseDurationMs)
  elector.passTo(sentAt + timing.requestTimeoutMs)
  if (elector.state.kind !== 'leading') return false
  elector.failWrite('unknown-outcome')
  elector.answerRead(elector.as('leading').hold.lease)
  return Number.isFinite(firstTimeOf(elector, 'write', elector.now + timing.leaseDurationMs))
}

function configOf(identity: string, timing: ResolvedTimingOptions): ElectorConfig {
  return { identity, timing, releaseOnExit: true, missingLease: 'create' }
}

/** Lets time pass until the elector wants this, or until `end`; infinite when it does not. */
function firstTimeOf(elector: PureElector, kind: 'write' | 'hard-abort', end: number): number {
  const isWanted = (effects: readonly ElectorEffect[]) => effects.some((effect) => effect.kind === kind)
  for (let at = nextWakeAt(elector.state, elector.config); at !== undefined && at <= end;) {
    if (isWanted(elector.passTo(at))) return elector.now
    at = nextWakeAt(elector.state, elector.config)
  }
  return Number.POSITIVE_INFINITY
}
