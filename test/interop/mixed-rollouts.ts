import { setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry, ControlPlane } from '@tenure/test-control-plane'
import type { ApiServer } from '../scenarios/api-server.ts'
import type { AnnotatedVersion, LeaseVersion } from '../scenarios/lease-journal.ts'
import { type LoopRun, loopRuns } from '../scenarios/loop-runs.ts'
import type { ReplicaProcess } from '../scenarios/replica-process.ts'
import { Scenario } from '../scenarios/scenario.ts'
import { type Foreign, type ForeignEnd, type ForeignKind, startForeign } from './foreign.ts'
import { compareWrites, type LeaseWrites } from './lease-writes.ts'
import { SHORT } from './mixed-lease.ts'

/** The API server, and the log of its requests. */
export type AuditedServer = ApiServer & { readonly controlPlane: ControlPlane }

/** One round. */
export interface Round {
  readonly kind: ForeignKind
  /** How the elector of others ends. */
  readonly end: 'stop' | 'kill'
  /** How long after a replica has joined the standbys another is stopped, and the elector of others ends, in milliseconds. */
  readonly endAfterMs: number
}

/** What one elector of others lived through. */
export interface ForeignTerm {
  readonly id: string
  readonly kind: ForeignKind
  readonly beganAt: bigint
  /** When the test began to end it. */
  readonly endingAt: bigint
  readonly ended: ForeignEnd
  /** Whether its work had ended before that. */
  readonly hadLost: boolean
  /** Whether it released the lease. */
  readonly hasReleased: boolean
}

/** A time during which nobody held the lease. */
interface FreeTime {
  readonly ms: number
  readonly takenBy: string
}

/** Everything that happened to one lease. */
export interface MixedHistory {
  readonly foreign: readonly ForeignTerm[]
  readonly tenure: readonly LoopRun[]
  readonly free: readonly FreeTime[]
  readonly holders: readonly LeaseVersion[]
  readonly versions: readonly AnnotatedVersion[]
  /** The terms of Tenure that ended without a release or a transfer. */
  readonly unreleased: readonly string[]
  readonly writes: LeaseWrites
  /** How many rollouts ended with a leader of the new revision. In the others the elector of others was faster. */
  readonly endedWithNew: number
  /** For each replica that followed an elector of others, whether it joined the standbys. */
  readonly joins: readonly boolean[]
}

type Fleet = readonly [leader: ReplicaProcess, follower: ReplicaProcess]

/** Long enough for several leases on a machine with few cores. */
const WAIT_MS = 60_000
/** A replica sees two renewals, and writes before three others, on a busy machine. */
const THREE_ATTEMPTS_MS = 5000 + 6 * SHORT.retryPeriodMs

/** One lease for which fleets of Tenure are rolled out, beside electors of others. */
export class MixedRollouts implements AsyncDisposable {
  readonly #server: AuditedServer
  readonly #scenario: Scenario
  readonly #replicas: ReplicaProcess[] = []
  readonly #foreign: Foreign[] = []
  readonly #terms: ForeignTerm[] = []
  readonly #joins: boolean[] = []
  #revision = 0
  #endedWithNew = 0
  /** Between rounds. */
  #fleet: Fleet | undefined

  private constructor(server: AuditedServer, scenario: Scenario) {
    this.#server = server
    this.#scenario = scenario
  }

  static async open(server: AuditedServer): Promise<MixedRollouts> {
    return new MixedRollouts(server, await Scenario.open(server))
  }

  /**
   * 1. The fleet is rolled out, while an elector of others polls.
   * 2. The leader steps down for that elector.
   * 3. Under it, replicas of a newer revision join the list of standbys, and the one before them leaves it.
   * 4. It ends, and a replica of Tenure leads.
   */
  async round(round: Round): Promise<void> {
    this.#fleet ??= await this.#startFleet()
    const foreign = await this.#startForeign(round.kind)
    const surged = await this.#rollOut(this.#fleet)
    const beganAt = await this.#stepDownFor(foreign, surged)
    const fresh = await this.#replaceUnder(foreign, surged, round.endAfterMs)
    await sleep(round.endAfterMs)
    const from = this.#scenario.lease.length
    const endingAt = process.hrtime.bigint()
    const hadLost = foreign.hasLost()
    const ended = await foreign.end(round.end)
    const leader = await this.#takenByOneOf(fresh, from)
    const hasReleased = this.#scenario.lease.entries.slice(from).some(({ holder }) => holder === '')
    const { id, kind } = foreign
    this.#terms.push({ id, kind, beganAt, endingAt, ended, hadLost, hasReleased })
    this.#fleet = [leader, fresh[0] === leader ? fresh[1] : fresh[0]]
  }

  /** Everything so far. To be called after the last round. */
  async history(): Promise<MixedHistory> {
    for (const replica of this.#fleet ?? []) await replica.terminate()
    await this.#scenario.lease.waitFor('a release', () => this.#scenario.lease.last?.holder === '')
    const { entries, versions } = this.#scenario.lease
    return {
      foreign: this.#terms,
      tenure: await loopRuns(this.#replicas),
      free: freeTimes(entries),
      holders: entries,
      versions: versions.entries,
      unreleased: unreleased(versions.entries),
      writes: compareWrites(await this.#audited(), versions.entries),
      endedWithNew: this.#endedWithNew,
      joins: this.#joins,
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#foreign.map((foreign) => foreign[Symbol.asyncDispose]()))
    await this.#scenario[Symbol.asyncDispose]()
  }

  async #startFleet(): Promise<Fleet> {
    const leader = await this.#startReplica('r0')
    await leader.saw('loop-began', { timeoutMs: WAIT_MS })
    const follower = await this.#startReplica('r0')
    await this.#triesToJoin(follower, leader.name)
    return [leader, follower]
  }

  /** Starts a replica of a new revision and stops the old ones, the leader last. */
  async #rollOut([leader, follower]: Fleet): Promise<ReplicaProcess> {
    const from = this.#scenario.lease.length
    const surged = await this.#startReplica(`r${++this.#revision}`)
    await this.#triesToJoin(surged, leader.name)
    await follower.terminate()
    await leader.terminate()
    const isTaken = ({ holder }: LeaseVersion) => holder !== '' && holder !== leader.name
    const { holder } = await this.#scenario.lease.waitFor('a leader', isTaken, { from, timeoutMs: WAIT_MS })
    if (holder === surged.name) this.#endedWithNew++
    return surged
  }

  /** Returns when the work of the other elector began, in nanoseconds of the monotonic clock. */
  async #stepDownFor(foreign: Foreign, leader: ReplicaProcess): Promise<bigint> {
    if (this.#scenario.lease.last?.holder === leader.name) {
      // The news of its lease may be faster here than there.
      await leader.saw('loop-began', { timeoutMs: WAIT_MS })
      await leader.stepDown({ cooldownMs: WAIT_MS })
    }
    const beganAt = await foreign.began()
    await leader.follows(foreign.id, { timeoutMs: WAIT_MS })
    return beganAt
  }

  /** Starts two replicas of a newer revision and stops the one that they replace. */
  async #replaceUnder({ id }: Foreign, old: ReplicaProcess, stopAfterMs: number): Promise<Fleet> {
    const revision = `r${++this.#revision}`
    const first = await this.#startReplica(revision)
    this.#joins.push(await this.#triesToJoin(first, id))
    const second = await this.#startReplica(revision)
    await sleep(stopAfterMs)
    await old.terminate()
    this.#joins.push(await this.#triesToJoin(second, id))
    return [first, second]
  }

  async #startReplica(revision: string): Promise<ReplicaProcess> {
    const name = `tenure-${this.#replicas.length + 1}`
    const timing = { ...SHORT, drainTimeoutMs: 5000 }
    const replica = await this.#scenario.start(name, { timing, revision })
    this.#replicas.push(replica)
    return replica
  }

  async #startForeign(kind: ForeignKind): Promise<Foreign> {
    const id = `foreign-${this.#foreign.length + 1}`
    await this.#scenario.grant(id)
    const { namespace, leaseName: lease } = this.#scenario
    const kubeConfig = this.#server.kubeConfig(this.#scenario.userOf(id))
    const foreign = await startForeign({ kind, kubeConfig, namespace, lease, id, timing: SHORT })
    this.#foreign.push(foreign)
    return foreign
  }

  /** Waits until the replica follows this leader, and has joined the standbys or tried it three times. Returns whether it has joined. */
  async #triesToJoin(replica: ReplicaProcess, leader: string): Promise<boolean> {
    await replica.follows(leader, { timeoutMs: WAIT_MS })
    const named = JSON.stringify(replica.name)
    const isNamed = ({ annotations }: AnnotatedVersion) => annotations['tenure.dev/standby']?.includes(named) ?? false
    const joined = this.#scenario.lease.versions.waitFor(`${replica.name} on the list`, isNamed, {
      timeoutMs: THREE_ATTEMPTS_MS,
    })
    return joined.then(
      () => true,
      () => false,
    )
  }

  async #takenByOneOf(replicas: readonly ReplicaProcess[], from: number): Promise<ReplicaProcess> {
    const leaderOf = (holder: string) => replicas.find(({ name }) => name === holder)
    const isTaken = ({ holder }: LeaseVersion) => leaderOf(holder) !== undefined
    const { holder } = await this.#scenario.lease.waitFor('a leader', isTaken, { from, timeoutMs: WAIT_MS })
    const leader = leaderOf(holder)
    if (leader === undefined) throw new Error(`Expected one of the replicas to lead, got \`${holder}\``)
    await leader.saw('loop-began', { timeoutMs: WAIT_MS })
    return leader
  }

  /** The requests about the lease. */
  async #audited(): Promise<readonly AuditEntry[]> {
    const { namespace, leaseName } = this.#scenario
    // Returns when every earlier request is in the audit log.
    await this.#server.requestsOf(namespace)
    const entries = await this.#server.controlPlane.audit()
    return entries.filter((entry) => {
      const isLease = entry.namespace === namespace && entry.resource === 'leases'
      return isLease && [leaseName, ''].includes(entry.name)
    })
  }
}

function freeTimes(entries: readonly LeaseVersion[]): readonly FreeTime[] {
  return entries.flatMap((entry, index) => {
    const isFreed = entry.holder === '' && entries[index - 1]?.holder !== ''
    const next = isFreed ? entries.slice(index).find(({ holder }) => holder !== '') : undefined
    return next === undefined ? [] : [{ ms: Number(next.at - entry.at) / 1e6, takenBy: next.holder }]
  })
}

/** The terms of Tenure that ended without a release or a transfer: another holder follows theirs. */
function unreleased(versions: readonly AnnotatedVersion[]): readonly string[] {
  return versions.flatMap(({ holder }, index) => {
    const next = versions[index + 1]
    const isPassedOn = next === undefined || next.holder === holder || next.holder === ''
    const isTransfer = next?.annotations['tenure.dev/transfer'] !== undefined
    return holder.startsWith('tenure-') && !isPassedOn && !isTransfer ? [`${holder}, then ${next.holder}`] : []
  })
}
