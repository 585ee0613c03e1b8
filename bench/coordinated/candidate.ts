import { KubeConfig } from '@kubernetes/client-node'
import type { ControlPlane } from '@tenure/test-control-plane'
import { Controller, createManager, type LeaseOptions, type ProcessManager, type Term } from 'tenure'

/** Where candidates stand for election. */
export interface CandidatePlace {
  readonly server: ControlPlane
  readonly lease: string
}

/** The namespace of every lease of this bench. */
export const NAMESPACE = 'default'
/** The binary version of every candidate. */
export const BINARY_VERSION = '1.4.0'

/** How long a candidate may take to lead, in milliseconds. */
const PATIENCE_MS = 60_000

/** What a candidate of this emulation version says on the lease; the least leads. */
export function leaseOf(name: string, emulationVersion: string): LeaseOptions & { readonly namespace: string } {
  return {
    name,
    namespace: NAMESPACE,
    strategy: 'OldestEmulationVersion',
    binaryVersion: BINARY_VERSION,
    emulationVersion,
  }
}

/** The identity of a candidate, and the version that it emulates. */
export interface CandidateSetup {
  readonly identity: string
  readonly emulationVersion: string
}

/** A replica in this process, with its own user, connections and watch. Its drain is empty. All times are of `performance.now()`. */
export class Candidate {
  readonly identity: string
  readonly #manager: ProcessManager
  #running: Promise<void> = Promise.resolve()
  #onRun: (at: number) => void = () => {}
  #ranAt = Number.NaN
  #endedAt = Number.NaN
  #renewals = 0

  constructor({ server, lease }: CandidatePlace, { identity, emulationVersion }: CandidateSetup) {
    this.identity = identity
    const kubeConfig = new KubeConfig()
    kubeConfig.loadFromString(server.kubeConfig({ name: identity, groups: ['system:masters'] }))
    const quiet = { ops: false, signals: false, logLevel: 'error', env: {}, argv: [] } as const
    this.#manager = createManager({ identity, lease: leaseOf(lease, emulationVersion), kubeConfig, ...quiet })
    this.#manager.register(() => new Probe(this))
    this.#manager.on(({ kind }) => {
      if (kind === 'renewed') this.#renewals++
    })
  }

  /** When its controller ran last. */
  get ranAt(): number {
    return this.#ranAt
  }

  /** When its controller ended last. */
  get endedAt(): number {
    return this.#endedAt
  }

  /** How often it has renewed the lease. */
  get renewals(): number {
    return this.#renewals
  }

  get isLeading(): boolean {
    return this.#manager.state.kind === 'leading'
  }

  /** Starts it. Returns when. */
  start(): number {
    const at = performance.now()
    this.#running = this.#manager.start()
    // `stop()` reports a failure.
    this.#running.catch(() => {})
    return at
  }

  /** Resolves with the time at which its controller runs next. @throws Error when it does not within a minute. */
  runs(): Promise<number> {
    return new Promise((resolve, reject) => {
      const explained = () =>
        `${this.identity} did not lead within ${PATIENCE_MS} ms; it is ${this.#manager.state.kind}`
      const patience = setTimeout(() => reject(new Error(explained())), PATIENCE_MS)
      this.#onRun = (at) => {
        clearTimeout(patience)
        resolve(at)
      }
    })
  }

  /** Leaves in order. */
  async stop(): Promise<void> {
    await this.#manager.stop()
    await this.#running
  }

  /** Of its controller. Noted within the call, because a successor renews right after it. */
  ran(): void {
    this.#ranAt = performance.now()
    this.#onRun(this.#ranAt)
  }

  /** Of its controller. */
  ended(): void {
    this.#endedAt = performance.now()
  }
}

class Probe extends Controller {
  override readonly name = 'probe'
  readonly #candidate: Candidate

  constructor(candidate: Candidate) {
    super()
    this.#candidate = candidate
  }

  override async run(term: Term): Promise<void> {
    this.#candidate.ran()
    await new Promise<void>((resolve) => term.signal.addEventListener('abort', () => resolve(), { once: true }))
    this.#candidate.ended()
  }
}
