import type { ControlPlane } from '@tenure/test-control-plane'
import { standing } from '../load/standing.ts'

/** The user of a replica in this process. */
type NameUser = (index: number) => string

/** Replicas of one lease in this process: a leader, and followers that start together. */
export class StandingFleet implements AsyncDisposable {
  readonly #replicas: readonly ReturnType<typeof standing>[]
  #onRun: (ranAt: number) => void = () => {}

  private constructor(server: ControlPlane, setup: StandingFleetSetup) {
    const { lease, size, userOf } = setup
    this.#replicas = Array.from({ length: size }, (_, index) => {
      const name = userOf(index)
      const kubeConfig = server.kubeConfig({ name, groups: ['system:masters'] })
      // Noted within the call, because the successor renews right after it.
      return standing({ user: name, lease, kubeConfig }, () => this.#onRun(performance.now()))
    })
  }

  /** Starts the first replica, and when it leads all others at once. Fulfils when all of them follow. */
  static async start(server: ControlPlane, setup: StandingFleetSetup): Promise<StandingFleet> {
    const fleet = new StandingFleet(server, setup)
    const [first, ...others] = fleet.#replicas
    first?.start()
    await first?.reached('leading')
    for (const replica of others) replica.start()
    await Promise.all(others.map((replica) => replica.reached('following', first?.user)))
    return fleet
  }

  /** The user of the leader. */
  get leader(): string | undefined {
    return this.#leader?.user
  }

  /** The leader steps down. Returns the milliseconds from the decision until the controller of the successor runs. */
  async stepDown(): Promise<number> {
    const leader = this.#leader
    if (leader === undefined) throw new Error('Expected a replica to lead')
    const ran = new Promise<number>((resolve) => {
      this.#onRun = resolve
    })
    const decidedAt = performance.now()
    await leader.manager.stepDown()
    return (await ran) - decidedAt
  }

  /** Fulfils when all replicas except the leader follow it. */
  async settled(): Promise<void> {
    const followers = this.#replicas.filter((replica) => replica !== this.#leader)
    await Promise.all(followers.map((replica) => replica.reached('following', this.leader)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#replicas.map((replica) => replica.stop()))
  }

  get #leader(): ReturnType<typeof standing> | undefined {
    return this.#replicas.find(({ manager }) => manager.state.kind === 'leading')
  }
}

/** The lease of a fleet and its replicas. */
interface StandingFleetSetup {
  readonly lease: string
  /** The number of replicas, the leader included. */
  readonly size: number
  readonly userOf: NameUser
}
