import { KubeConfig } from '@kubernetes/client-node'
import { Controller, Manager, type Term } from '@tenure/core'
import { LeaseLock } from '@tenure/kubernetes'
import type { ControlPlane } from '@tenure/test-control-plane'

/** The lease, and the work of the replicas. */
export interface PairOptions {
  readonly namespace: string
  readonly lease: string
  /** What the work does after its term has begun to end. @default nothing */
  readonly finish?: () => Promise<void>
}

/** The durations of one handover. */
export interface Handover {
  /** Milliseconds from the decision to step down until the controller of the successor runs. */
  readonly fromDecisionMs: number
  /** Milliseconds from the end of the last task until the controller of the successor runs. */
  readonly fromLastTaskMs: number
  /** The lease writes that were sent between those two. */
  readonly writes: number
  /** Whether the lease was transferred, because the other replica had answered the offer. Otherwise it was released. */
  readonly isTransfer: boolean
}

/** Two replicas that step down in turn. */
export async function createReplicaPair(server: ControlPlane, options: PairOptions): Promise<ReplicaPair> {
  const journal = new Journal()
  const managers = ['a', 'b'].map((identity) => managerOf(identity, server, options, journal))
  const first = journal.nextRun()
  const running = managers.map((manager) => manager.start())
  await first
  await new Promise((resolve) => setTimeout(resolve, 500))
  return {
    async round() {
      const leader = managers.find((manager) => manager.state.kind === 'leading')
      if (leader === undefined) throw new Error('No replica leads')
      const successor = journal.nextRun()
      const decidedAt = performance.now()
      const over = leader.stepDown()
      const ran = await successor
      const result = await over
      return {
        fromDecisionMs: ran.at - decidedAt,
        fromLastTaskMs: ran.at - journal.lastTaskEndedAt,
        writes: ran.writes,
        isTransfer: result.kind === 'stepped-down' && result.outcome === 'transferred',
      }
    },
    async close() {
      await Promise.all(managers.map((manager) => manager.stop()))
      await Promise.all(running)
    },
  }
}

/** The start of a controller, and the lease writes since the end of the last task. */
interface Run {
  readonly at: number
  readonly writes: number
}

/** The events of both replicas. */
class Journal {
  lastTaskEndedAt = 0
  #writes = 0
  #onRun: (run: Run) => void = () => {}

  /** Noted within the call, because the successor renews right after it. */
  ran(): void {
    this.#onRun({ at: performance.now(), writes: this.#writes })
  }

  wrote(): void {
    this.#writes++
  }

  lastTaskEnded(): void {
    this.lastTaskEndedAt = performance.now()
    this.#writes = 0
  }

  /** Resolves when a controller runs next. */
  nextRun(): Promise<Run> {
    return new Promise((resolve) => {
      this.#onRun = resolve
    })
  }
}

class Probe extends Controller {
  override readonly name = 'probe'
  readonly #finish: PairOptions['finish']
  readonly #journal: Journal

  constructor(finish: PairOptions['finish'], journal: Journal) {
    super()
    this.#finish = finish
    this.#journal = journal
  }

  override async run(term: Term): Promise<void> {
    this.#journal.ran()
    await term
      .spawn('work', (signal) => aborted(signal).then(this.#finish))
      .finally(() => this.#journal.lastTaskEnded())
  }
}

function managerOf(identity: string, server: ControlPlane, options: PairOptions, journal: Journal): Manager {
  const kubeConfig = new KubeConfig()
  kubeConfig.loadFromString(server.adminKubeConfig())
  const createLock = () => {
    const lock = new LeaseLock({ kubeConfig, name: options.lease, namespace: options.namespace })
    const update = lock.update.bind(lock)
    lock.update = (...request) => {
      journal.wrote()
      return update(...request)
    }
    return lock
  }
  const manager = new Manager({ identity, lease: { name: options.lease }, createLock })
  return manager.register(() => new Probe(options.finish, journal))
}

/** See {@link createReplicaPair}. */
interface ReplicaPair {
  round(): Promise<Handover>
  close(): Promise<void>
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
