import { setTimeout as sleep } from 'node:timers/promises'
import type { CoordinationV1Api } from '@kubernetes/client-node'
import type { Worker, WorkerLease } from './worker.ts'

/** A fleet of a leader and a standby. The leader is stopped and replaced in every round. */
export class ReplacedLeaders {
  readonly #api: CoordinationV1Api
  readonly #lease: WorkerLease
  readonly #start: (identity: string) => Worker
  #started = 0
  #leader: Worker
  #standby: Worker

  private constructor(api: CoordinationV1Api, lease: WorkerLease, start: (identity: string) => Worker) {
    this.#api = api
    this.#lease = lease
    this.#start = start
    this.#leader = this.#next()
    this.#standby = this.#leader
  }

  static async open(
    api: CoordinationV1Api,
    lease: WorkerLease,
    start: (identity: string) => Worker,
  ): Promise<ReplacedLeaders> {
    const fleet = new ReplacedLeaders(api, lease, start)
    await fleet.#leader.began()
    fleet.#standby = fleet.#next()
    await fleet.prepare()
    return fleet
  }

  /** Milliseconds from SIGTERM to the leader to the first act of the work of the standby. Needs `prepare()` before. */
  async round(): Promise<number> {
    const stopped = this.#leader
    const askedAt = stopped.end('SIGTERM')
    const beganAt = await this.#standby.began()
    await stopped.exited()
    this.#leader = this.#standby
    this.#standby = this.#next()
    return beganAt - askedAt
  }

  /** Waits until the standby is on the list that the lease carries. */
  async prepare(): Promise<void> {
    const { identity } = this.#standby
    for (;;) {
      const { metadata } = await this.#api.readNamespacedLease(this.#lease)
      if (JSON.stringify(metadata?.annotations ?? {}).includes(identity)) return
      await sleep(50)
    }
  }

  async close(): Promise<void> {
    for (const worker of [this.#standby, this.#leader]) {
      worker.end('SIGTERM')
      await worker.exited()
    }
  }

  #next(): Worker {
    this.#started += 1
    return this.#start(`${this.#lease.name}-${this.#started}`)
  }
}
