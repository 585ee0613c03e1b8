import type { LockWatch } from '@tenure/core'
import type { Departure } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'
import { latencyMs } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** What one process knows of its Pod and its node: whether it is about to be stopped. It hears of that by a watch, late if it is cut off. */
export class SimulatedDeparture implements Departure {
  state: Departure['state']
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #listeners = new Set<() => void>()
  #actual: Departure['state']

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster
    this.#process = process
  }

  /** The Pod or the node has changed. */
  become(actual: Departure['state']): void {
    if (actual === this.#actual) return
    this.#actual = actual
    this.#tell()
  }

  watch(changed: () => void): LockWatch {
    const listener = (): void => changed()
    this.#listeners.add(listener)
    return { close: async () => void this.#listeners.delete(listener) }
  }

  #tell(): void {
    const { now, random, server } = this.#cluster
    const reachableAt = Math.max(now, this.#process.cutOffUntil, server.downUntil)
    this.#process.post(reachableAt + latencyMs(random), () => this.#hear(), 'network')
  }

  /** A late report shows the state of now. */
  #hear(): void {
    if (this.#process.isCutOff) return this.#tell()
    if (this.state === this.#actual) return
    this.state = this.#actual
    this.#cluster.say(this.#process.identity, `hears that its place is ${this.state ?? 'kept'}`)
    for (const changed of this.#listeners) changed()
  }
}
