import type { LeaseOptions } from 'tenure'
import { expect, vi } from 'vitest'
import type { ApiServer } from './api-server.ts'
import type { AnnotatedVersion } from './lease-journal.ts'
import { loopRuns, type LoopRun, overlaps } from './loop-runs.ts'
import type { ReplicaProcess } from './replica-process.ts'
import { type ReplicaOptions, Scenario } from './scenario.ts'
import { PATIENT } from './timings.ts'

/** The binary version of every candidate. */
const BINARY_VERSION = '1.40.0'

/** The annotation with the list of standbys. */
const STANDBYS = 'tenure.dev/standby'

const PATIENCE = { timeout: 90_000, interval: 20 }

/** What an administrator reads of a LeaseCandidate. */
interface SeenCandidate {
  readonly metadata: { readonly name: string }
  readonly spec: Readonly<Record<string, string>>
}

/** One lease whose replicas follow a strategy, as processes, with an administrator who sees and edits their candidates. */
export class CoordinatedScenario implements AsyncDisposable {
  readonly scenario: Scenario
  readonly #server: ApiServer
  readonly #replicas: ReplicaProcess[] = []

  private constructor(server: ApiServer, scenario: Scenario) {
    this.#server = server
    this.scenario = scenario
  }

  static async open(server: ApiServer): Promise<CoordinatedScenario> {
    return new CoordinatedScenario(server, await Scenario.open(server))
  }

  /** Starts a replica that emulates this version, and follows `OldestEmulationVersion` unless its options say otherwise. */
  async start(name: string, emulationVersion: string, options: ReplicaOptions = {}): Promise<ReplicaProcess> {
    const strategy = { strategy: 'OldestEmulationVersion', binaryVersion: BINARY_VERSION, emulationVersion }
    return await this.startWith(name, { ...strategy, ...options.timing }, options)
  }

  /** Starts a replica with these options of the lease. */
  async startWith(name: string, lease: Partial<LeaseOptions>, options: ReplicaOptions = {}): Promise<ReplicaProcess> {
    const replica = await this.scenario.start(name, { ...options, timing: { ...PATIENT, ...lease } })
    this.#replicas.push(replica)
    return replica
  }

  /** The candidates of this lease; empty if the API server knows none. */
  async candidates(): Promise<readonly SeenCandidate[]> {
    const { status, body } = await this.#server.admin.request(this.#path())
    return status === 404 ? [] : (body as { readonly items: readonly SeenCandidate[] }).items
  }

  /** Waits until exactly these replicas have a candidate. */
  async hasCandidates(...names: readonly string[]): Promise<void> {
    await vi.waitFor(async () => {
      const present = (await this.candidates()).map(({ metadata }) => metadata.name)
      expect(present.toSorted()).toEqual(names.toSorted())
    }, PATIENCE)
  }

  /** Waits until a candidate has this value in a field of its spec. */
  async hasField(name: string, field: string, value: string): Promise<void> {
    await vi.waitFor(async () => {
      const candidate = (await this.candidates()).find(({ metadata }) => metadata.name === name)
      expect(candidate?.spec[field]).toBe(value)
    }, PATIENCE)
  }

  /** Waits until the replica is on the list of standbys. */
  async lists({ name }: ReplicaProcess): Promise<void> {
    const isListed = ({ annotations }: AnnotatedVersion) =>
      annotations[STANDBYS]?.includes(`"identity":"${name}"`) === true
    const { versions } = this.scenario.lease
    await versions.waitFor(`${name} on the list of standbys`, isListed, { from: versions.length - 1 })
  }

  /** A human replaces the spec of a candidate. */
  async edit(name: string, spec: Readonly<Record<string, string>>): Promise<void> {
    for (;;) {
      const path = this.#path(name)
      const stored = (await this.#server.admin.expect(path)) as SeenCandidate
      const body = { ...stored, spec: { ...stored.spec, ...spec } }
      const { status } = await this.#server.admin.request(path, { method: 'PUT', body })
      // The replica or the controller wrote in between: once more.
      if (status !== 409) return
    }
  }

  /** A human deletes a candidate. */
  async delete(name: string): Promise<void> {
    await this.#server.admin.expect(this.#path(name), { method: 'DELETE' })
  }

  /**
   * The runs of all loops so far, and what is wrong with them: runs that overlapped, and acts that the write gate should have refused.
   * @throws Error when the independent watch does not see the lease with the holder of a run at the version that the run began with.
   */
  async ledger(): Promise<{ readonly runs: readonly LoopRun[]; readonly wrongs: readonly unknown[] }> {
    const runs = await loopRuns(this.#replicas)
    const { versions } = this.scenario.lease
    for (const { replica, epoch } of runs) {
      const what = `version ${epoch}, held by ${replica},`
      await versions.waitFor(what, ({ version, holder }) => holder === replica && version === String(epoch))
    }
    const unheld = this.#replicas.flatMap((replica) => replica.all('acted').filter(({ isHeld }) => !isHeld))
    return { runs, wrongs: [...overlaps(runs), ...unheld] }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.scenario[Symbol.asyncDispose]()
  }

  #path(name?: string): string {
    const base = `/apis/coordination.k8s.io/v1beta1/namespaces/${this.scenario.namespace}/leasecandidates`
    return name === undefined ? base : `${base}/${name}`
  }
}
