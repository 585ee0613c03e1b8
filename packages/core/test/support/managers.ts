import { onTestFinished } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import type { Controller } from '../../src/controller/controller.ts'
import { readStandbys, type Standby } from '../../src/election/rules/standby-note.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { Manager } from '../../src/manager/manager.ts'
import type { ManagerOptions } from '../../src/manager/manager-options.ts'
import { untilEnd } from './replica.ts'

/** Replicas around one lease, on one virtual clock. */
export class Fleet {
  readonly clock = new VirtualClock()
  readonly store = new MemoryLeaseStore()
  /** The replicas that led, in order. */
  readonly leaders: string[] = []
  /** Whether two terms ever overlapped. */
  hasOverlap = false
  readonly #terms = new Set<string>()
  readonly #managers: Manager[] = []
  #random = 0

  constructor() {
    onTestFinished(async () => {
      for (const manager of this.#managers) void manager.stop()
      await this.clock.advance(60_000)
    })
  }

  /** Starts a replica and waits until it has joined the list or found that it does not belong there. */
  async start(
    identity: string,
    options: Partial<ManagerOptions> = {},
    run: Controller['run'] = untilEnd,
    warming: Pick<Controller, 'warmUp'> = {},
  ): Promise<Manager> {
    const manager = this.launch(identity, options, run, warming)
    await this.clock.advance(2500)
    return manager
  }

  /** Starts a replica. */
  launch(
    identity: string,
    options: Partial<ManagerOptions> = {},
    run: Controller['run'] = untilEnd,
    warming: Pick<Controller, 'warmUp'> = {},
  ): Manager {
    const manager = new Manager({
      identity,
      lease: { name: 'lease' },
      clock: this.clock,
      random: () => (this.#random = (this.#random + 0.618) % 1),
      createLock: ({ name }) => this.store.lock(name),
      ...options,
    })
    this.#managers.push(manager)
    manager.register(
      () => ({ name: 'janitor', run, ...warming }),
      warming.warmUp === undefined ? {} : { warmUp: 'following' },
    )
    manager.on((event) => this.#heard(identity, event))
    manager.start().catch(() => {})
    return manager
  }

  async stop(manager: Manager): Promise<void> {
    const stopped = manager.stop()
    await this.clock.advance(1500)
    await stopped
  }

  #heard(identity: string, { kind }: CandidacyEvent): void {
    if (kind === 'term-over') this.#terms.delete(identity)
    if (kind !== 'term-began') return
    this.hasOverlap ||= this.#terms.size > 0
    this.#terms.add(identity)
    this.leaders.push(identity)
  }

  listed(identity: string): Standby | undefined {
    const lease = this.store.read('lease')
    return lease.kind === 'present'
      ? readStandbys(lease.record).find((standby) => standby.identity === identity)
      : undefined
  }

  /** The version of the lease. */
  get version(): bigint {
    const lease = this.store.read('lease')
    return lease.kind === 'present' ? lease.version : 0n
  }

  get standbys(): readonly string[] {
    const lease = this.store.read('lease')
    return lease.kind === 'present' ? readStandbys(lease.record).map(({ identity }) => identity) : []
  }
}
