import type { Candidacy } from '../candidacy/candidacy.ts'
import { HealthProbe } from '../health/health-probe.ts'
import { type HealthCheckResult, HealthRegistry } from '../health/health-registry.ts'
import { textOf } from '../text-of.ts'

/** What the readiness checks look at. */
interface ReadinessSubject {
  readonly candidacies: readonly Candidacy[]
  readonly isStopping: () => boolean
}

/** A kubelet calls a Pod unready after so many failures in a row, unless its probe says otherwise. */
const FAILURE_THRESHOLD = 3

/**
 * What `/readyz` serves. It also remembers whether the checks that others added pass. Its own checks do not count: they tell how far the
 * replica has come with standing for election.
 */
export class ReadinessProbe extends HealthProbe {
  readonly #own: HealthRegistry
  #runsSincePass = 0

  constructor(subject: ReadinessSubject) {
    super()
    this.#own = readinessChecks(subject)
    this.add(this.#own)
  }

  /** False once {@link FAILURE_THRESHOLD} full runs in a row have failed or hang, and until one passes. */
  get isPassing(): boolean {
    return this.#runsSincePass < FAILURE_THRESHOLD
  }

  override async run(exclude?: ReadonlySet<string>): Promise<readonly HealthCheckResult[]> {
    const isFull = exclude === undefined || exclude.size === 0
    if (isFull) this.#runsSincePass += 1
    const results = await super.run(exclude)
    const isFailed = results.some(({ name, failure }) => failure !== undefined && !this.#own.names.includes(name))
    if (isFull && !isFailed) this.#runsSincePass = 0
    return results
  }
}

/** The checks of the manager. None depends on leadership: otherwise a rolling update could deadlock. */
function readinessChecks({ candidacies, isStopping }: ReadinessSubject): HealthRegistry {
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
