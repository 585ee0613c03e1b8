import { onTestFinished } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { Candidacy } from '../../src/candidacy/candidacy.ts'
import type { CandidacyEvent } from '../../src/candidacy/events.ts'
import type { ControllerFactory } from '../../src/controller/controller.ts'
import type { RegisterOptions } from '../../src/controller/registration.ts'
import { type RestartOptions, resolveRestartOptions } from '../../src/controller/restart-options.ts'
import type { WedgedPolicy } from '../../src/election/machine/config.ts'
import { resolveTimingOptions, type TimingOptions } from '../../src/election/timing-options.ts'
import { type FeatureGateSettings, resolveFeatureGates } from '../../src/feature-gates.ts'
import { MemoryLeaseStore } from '../../src/lock/memory-lock.ts'
import { type Logger, silentLogger } from '../../src/ports/logger.ts'
import type { Term } from '../../src/term/term.ts'
import { BreakableLock } from './breakable-lock.ts'

/** What tests vary about a {@link Replica}. */
export interface ReplicaOptions {
  readonly identity?: string
  readonly store?: MemoryLeaseStore
  readonly clock?: VirtualClock
  readonly timing?: TimingOptions
  readonly onWedged?: WedgedPolicy
  readonly cleanupTimeoutMs?: number
  readonly logger?: Logger
  readonly gates?: FeatureGateSettings
  readonly restart?: RestartOptions
  readonly onEvent?: (event: CandidacyEvent) => void
}

type EventOf<K> = Extract<CandidacyEvent, { kind: K }>

/** A candidacy for the lease `lease` on virtual time and leases in memory. */
export class Replica {
  readonly identity: string
  readonly clock: VirtualClock
  readonly store: MemoryLeaseStore
  readonly lock: BreakableLock
  readonly candidacy: Candidacy
  readonly events: CandidacyEvent[] = []
  readonly failures: Error[] = []
  readonly fatals: Error[] = []

  constructor(options: ReplicaOptions = {}) {
    this.identity = options.identity ?? 'me'
    this.clock = options.clock ?? new VirtualClock()
    this.store = options.store ?? new MemoryLeaseStore()
    this.lock = new BreakableLock(this.store.lock('lease'))
    const gates = resolveFeatureGates(options.gates)
    this.candidacy = new Candidacy({
      lease: { name: 'lease' },
      createLock: () => this.lock,
      config: {
        identity: this.identity,
        timing: resolveTimingOptions(options.timing),
        releaseOnExit: gates.ReleaseLockOnExit.enabled,
        missingLease: 'create',
        cleanupTimeoutMs: options.cleanupTimeoutMs ?? 4000,
        onWedged: options.onWedged ?? 'exit',
      },
      warmUpStopTimeoutMs: 5000,
      gates,
      clock: this.clock,
      random: () => 0,
      logger: options.logger ?? silentLogger,
      restart: resolveRestartOptions(options.restart),
      extensions: [],
      onEvent: (event) => {
        this.events.push(event)
        options.onEvent?.(event)
      },
      onFailure: (error) => this.failures.push(error),
      onFatal: (error) => this.fatals.push(error),
    })
    onTestFinished(() => this.#leaveNothing())
  }

  /** Registers a controller that does `run`. */
  runs(run: (term: Term) => Promise<void>, name = 'janitor'): this {
    return this.registers(() => ({ name, run }))
  }

  registers(factory: ControllerFactory, options: RegisterOptions = {}): this {
    this.candidacy.register(factory, options)
    return this
  }

  /** Stands for election and waits until nothing more happens at this moment. */
  async start(): Promise<this> {
    this.candidacy.start()
    await this.clock.runAllMicrotasks()
    return this
  }

  /** Every event of the given kind, oldest first. */
  all<K extends CandidacyEvent['kind']>(kind: K): readonly EventOf<K>[] {
    return this.events.filter((event): event is EventOf<K> => event.kind === kind)
  }

  /** The names of the health checks that fail now, with why. */
  async unhealthy(): Promise<readonly string[]> {
    const results = await this.candidacy.health.run()
    return results.flatMap(({ name, failure }) => (failure === undefined ? [] : [`${name}: ${failure.message}`]))
  }

  /** Who the stored lease says leads. */
  get holder(): string | undefined {
    const lease = this.store.read('lease')
    return lease.kind === 'present' ? lease.record.holderIdentity : undefined
  }

  /** What still runs when the test is over ends, and is waited for. */
  async #leaveNothing(): Promise<void> {
    this.lock.failure = undefined
    void this.candidacy.stop()
    await this.clock.advance(60_000)
  }
}

/** Works until the term ends. */
export const untilEnd = (term: Term): Promise<void> => term.sleep(1e12)
