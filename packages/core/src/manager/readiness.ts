import type { Candidacy } from '../candidacy/candidacy.ts'
import { HealthRegistry } from '../health/health-registry.ts'
import { textOf } from '../text-of.ts'

/** What the readiness checks look at. */
export interface ReadinessSubject {
  readonly candidacies: readonly Candidacy[]
  readonly isStopping: () => boolean
}

/** The checks of `/readyz`. None depends on leadership: otherwise a rolling update could deadlock. */
export function readinessChecks({ candidacies, isStopping }: ReadinessSubject): HealthRegistry {
  const ready = new HealthRegistry()
  ready.register('lease-observed', () => assertLeasesObserved(candidacies))
  ready.register('standby', () => assertStanding(candidacies))
  ready.register('lease-writable', () => assertLeasesWritable(candidacies))
  ready.register('shutdown', () => {
    if (isStopping()) throw new Error('the process is shutting down')
  })
  return ready
}

function assertLeasesWritable(candidacies: readonly Candidacy[]): void {
  const refused = candidacies.find((candidacy) => candidacy.refusal !== undefined)
  if (refused?.refusal === undefined) return
  throw new Error(`the lease \`${refused.lease}\` cannot be acquired: ${refused.refusal.message}`)
}

/** Ends by itself after three attempts, within three retry periods unless the API server asks for more time. */
function assertStanding(candidacies: readonly Candidacy[]): void {
  const joining = candidacies.find((candidacy) => candidacy.standing === 'joining')
  if (joining === undefined) return
  throw new Error(`the replica has not joined the standbys of the lease \`${joining.lease}\` yet`)
}

function assertLeasesObserved(candidacies: readonly Candidacy[]): void {
  const waiting = candidacies.find((candidacy) => candidacy.standing === 'unseen')
  if (waiting === undefined) return
  const cause = waiting.lastProblem === undefined ? '' : `: ${textOf(waiting.lastProblem)}`
  throw new Error(`the lease \`${waiting.lease}\` has not been seen yet${cause}`)
}
