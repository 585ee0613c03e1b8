import { type LockSnapshot, type LockWatch, LockRequestError } from '@tenure/core'
import type { Coordinator, PreferredHolder, Timer } from '@tenure/core/internal'
import type { Cluster } from './cluster.ts'
import type { SimulatedCoordinator } from './simulated-coordinator.ts'
import type { SimulatedProcess } from './simulated-process.ts'

const REQUEST_TIMEOUT_MS = 2500
const RETRY_MS = 1000

/** How often a process asks again who decides. */
const ASK_MS = 20_000

/** The candidate of one process, as the lock of a cluster with an election controller has it. */
export class SimulatedCandidate implements Coordinator {
  state: Coordinator['state'] = 'asking'
  preferred: PreferredHolder | undefined
  readonly #cluster: Cluster
  readonly #process: SimulatedProcess
  readonly #coordinator: SimulatedCoordinator
  readonly #listeners = new Set<() => void>()
  #from: number | undefined
  #isStored = false
  #isConfirmed = false
  #isPinged = false
  #running: Promise<void> | undefined
  #timer: Timer | undefined
  #asking: Timer | undefined
  #isClosed = false

  constructor(cluster: Cluster, process: SimulatedProcess, coordinator: SimulatedCoordinator) {
    this.#cluster = cluster
    this.#process = process
    this.#coordinator = coordinator
  }

  stand(from: number | undefined): void {
    if (this.#isClosed || from === this.#from) return
    this.#from = from
    this.#work()
  }

  watch(changed: () => void): LockWatch {
    this.#listeners.add(changed)
    void this.#ask()
    return { close: async () => void this.#listeners.delete(changed) }
  }

  /** Takes in a view of the lease. */
  observed(snapshot: LockSnapshot): void {
    const { identity } = this.#process
    const { holderIdentity, preferredHolder = '' } = snapshot.kind === 'present' ? snapshot.record : {}
    if (holderIdentity !== identity || ['', identity].includes(preferredHolder)) this.#prefer(undefined)
    else if (this.preferred?.identity !== preferredHolder) void this.#look(preferredHolder)
  }

  /** Deletes the candidate. Never rejects. */
  async withdraw(): Promise<void> {
    this.#from = undefined
    await this.#running
    if (this.#isStored) await this.#sync().catch(() => {})
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#timer?.cancel()
    this.#asking?.cancel()
    await this.withdraw()
  }

  /** Does what is due, one request after the other. */
  #work(): void {
    this.#timer?.cancel()
    this.#running ??= this.#sync()
      .catch(() => this.#workIn(RETRY_MS))
      .finally(() => (this.#running = undefined))
  }

  #workIn(ms: number): void {
    if (!this.#isClosed) this.#timer = this.#process.setTimer(ms, () => this.#work())
  }

  async #sync(): Promise<void> {
    const process = this.#process
    const coordinator = this.#coordinator
    const from = this.state === 'server' ? this.#from : undefined
    if (from === undefined) {
      if (!this.#isStored) return
      await this.#request('delete candidate', () => coordinator.withdraw(process))
      this.#isStored = false
      this.#isConfirmed = false
    } else if (process.now() < from) {
      return this.#workIn(from - process.now())
    } else if (!this.#isConfirmed) {
      this.#isStored = true
      await this.#request('create candidate', () => coordinator.stand(process, () => this.#pinged()))
      this.#isConfirmed = true
    } else if (this.#isPinged) {
      this.#isConfirmed = await this.#request('renew candidate', () => coordinator.renew(process))
      this.#isPinged = false
    } else return
    this.#workIn(0)
  }

  #pinged(): void {
    if (this.#process.isCutOff) return
    this.#isPinged = true
    this.#isStored = true
    this.#work()
  }

  /** Asks who decides, and looks at the stored candidate, like a watch that reconnects. */
  async #ask(): Promise<void> {
    const coordinator = this.#coordinator
    const { identity } = this.#process
    const look = () =>
      ({ state: coordinator.decides ? 'server' : 'peers', isAlive: coordinator.isAlive(identity) }) as const
    const seen = await this.#request('who decides', look).catch(() => undefined)
    if (this.#isClosed) return
    this.#asking = this.#process.setTimer(seen === undefined ? RETRY_MS : ASK_MS, () => void this.#ask())
    if (seen === undefined) return
    if (this.#isConfirmed && !seen.isAlive) this.#isPinged = true
    const isChanged = seen.state !== this.state
    this.state = seen.state
    this.#work()
    if (isChanged) for (const changed of this.#listeners) changed()
  }

  async #look(identity: string): Promise<void> {
    const isAlive = await this.#request('get candidate', () => this.#coordinator.isAlive(identity)).catch(
      () => undefined,
    )
    if (isAlive !== undefined) this.#prefer({ identity, isAlive })
  }

  #prefer(preferred: PreferredHolder | undefined): void {
    if (preferred?.identity === this.preferred?.identity && preferred?.isAlive === this.preferred?.isAlive) return
    this.preferred = preferred
    for (const changed of this.#listeners) changed()
  }

  async #request<T>(what: string, apply: () => T): Promise<T> {
    const { network, server } = this.#cluster
    const deadline = new AbortController()
    const timer = this.#process.setTimer(REQUEST_TIMEOUT_MS, () =>
      deadline.abort(new LockRequestError('unreachable', `${what}: no answer`)),
    )
    try {
      return await network.request({ process: this.#process, server, what, apply, signal: deadline.signal })
    } finally {
      timer.cancel()
    }
  }
}
