import { Controller, Manager, type Term } from '@tenure/core'
import { silentLogger, systemClock, systemRandom } from '@tenure/core/internal'
import { LeaseLock, loadKubeConfig } from '@tenure/kubernetes'

/** Works until its term ends. */
class Janitor extends Controller {
  readonly name = 'janitor'
  readonly #stubborn: Promise<void> | undefined

  constructor(stubborn: Promise<void> | undefined) {
    super()
    this.#stubborn = stubborn
  }

  async run(term: Term): Promise<void> {
    await term.sleep(1e9).catch(() => {})
    await this.#stubborn
  }
}

/** What a replica is to do. */
export interface ReplicaOptions {
  readonly kubeConfigPath: string
  readonly identity: string
  /** The drain of a term waits for this. */
  readonly stubborn?: Promise<void>
}

/** Replicas of one program, in this process, which stand for the lease `ops/janitor`. */
export class Replicas implements AsyncDisposable {
  readonly managers: Manager[] = []
  readonly #running: Promise<void>[] = []

  start({ kubeConfigPath, identity, stubborn }: ReplicaOptions): Manager {
    const kubeConfig = loadKubeConfig({ kubeConfigPath })
    const manager = new Manager({
      identity,
      lease: { name: 'janitor', namespace: 'ops' },
      createLock: ({ name }) => new LeaseLock({ kubeConfig, name, namespace: 'ops' }),
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
    })
    manager.register(() => new Janitor(stubborn))
    this.managers.push(manager)
    this.#running.push(manager.start())
    return manager
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.managers.map((manager) => manager.stop()))
    await Promise.all(this.#running)
  }
}
