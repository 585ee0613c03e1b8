import type { LockWatch } from '@tenure/core'
import type { HolderObserver } from '@tenure/core/internal'
import type { Run } from '../run.ts'
import { latencyMs, type ServerState } from './network.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/**
 * The ends of processes that the cluster knows of. Like a kubelet, it learns of an end late, or never if the host is lost. It reports
 * nothing about a process that is suspended or unreachable.
 */
export class KnownDeaths {
  readonly #run: Run
  readonly #server: ServerState
  readonly #dead = new Set<string>()
  /** The observers of each process, by identity. */
  readonly #observers = new Map<string, Set<() => void>>()

  constructor(run: Run, server: ServerState) {
    this.#run = run
    this.#server = server
  }

  /** A process has ended. The cluster learns of it after a while, or never. */
  ended({ identity }: SimulatedProcess): void {
    const { agenda, now, random, timing } = this.#run
    const isNeverKnown = random() < 0.5
    const afterMs = timing.leaseDurationMs * random() ** 2
    if (isNeverKnown) return
    agenda.add(now + afterMs, () => {
      this.#dead.add(identity)
      for (const tell of this.#observers.get(identity) ?? []) tell()
    })
  }

  /** Tells `process` that the process with `identity` has ended, once the cluster knows it. */
  watch(process: SimulatedProcess, identity: string, observer: HolderObserver): LockWatch {
    const observers = this.#observers.get(identity) ?? new Set()
    this.#observers.set(identity, observers)
    let isClosed = false
    const tell = () => {
      const { now, random } = this.#run
      const reachableAt = Math.max(now, process.cutOffUntil, this.#server.downUntil)
      const deliver = () => {
        if (isClosed) return
        if (process.isCutOff) tell()
        else observer.dead()
      }
      process.post(reachableAt + latencyMs(random), deliver, 'network')
    }
    if (this.#dead.has(identity)) tell()
    else observers.add(tell)
    return {
      close: async () => {
        isClosed = true
        observers.delete(tell)
      },
    }
  }
}
