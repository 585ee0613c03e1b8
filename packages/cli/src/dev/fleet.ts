import type { ApiServer } from '@tenure/api-server'
import { pause, type Terminal } from '../terminal.ts'
import { Cuts } from './cuts.ts'
import { Replica } from './replica.ts'
import type { ReplicaProcess } from './replica-process.ts'

/** How long a replica may take to be ready before the next one is restarted. */
const READY_MS = 5000

/** How often to ask a replica whether it is ready. */
const POLL_MS = 100

/** Options of a {@link Fleet}. */
export interface FleetOptions {
  readonly size: number
  readonly faults: ApiServer['faults']
  /** Starts the program as this replica. */
  readonly launch: (name: string) => Promise<ReplicaProcess>
  /** Whether a replica answers that it is ready. */
  readonly isReady: (name: string) => Promise<boolean>
  /** The replicas that lead now. */
  readonly leaders: () => Promise<ReadonlySet<string>>
  /** Says what happened to a replica. */
  readonly say: (name: string, text: string) => void
  readonly stopTimeoutMs: number
  readonly terminal: Terminal
  /** Called when the state of a replica has changed. @default none */
  readonly onChange?: () => void
}

/** The state of one replica. */
export interface ReplicaFacts {
  readonly name: string
  readonly state: Replica['state']
  readonly isCutOff: boolean
}

/** The replicas of one program. */
export class Fleet {
  readonly #options: FleetOptions
  readonly #replicas: ReadonlyMap<string, Replica>
  readonly #cuts: Cuts
  #rollout: 'none' | 'running' | 'again' = 'none'

  constructor(options: FleetOptions) {
    this.#options = options
    this.#cuts = new Cuts(options.faults)
    const names = namesOfReplicas(options.size)
    this.#replicas = new Map(names.map((name) => [name, this.#start(name)]))
  }

  get names(): readonly string[] {
    return [...this.#replicas.keys()]
  }

  get facts(): readonly ReplicaFacts[] {
    return [...this.#replicas.values()].map(({ name, state }) => ({ name, state, isCutOff: this.#cuts.has(name) }))
  }

  /** Kills a replica. */
  kill(name: string): void {
    this.#replicas.get(name)?.kill()
  }

  /** Pauses a replica, or lets it continue. */
  togglePause(name: string): void {
    this.#replicas.get(name)?.togglePause()
  }

  /** Cuts a replica off from the API server, or connects it again. */
  toggleCut(name: string): void {
    const { say, onChange } = this.#options
    if (!this.#replicas.has(name)) return
    // Every replica is a user of its own.
    const isCut = this.#cuts.toggle(name)
    say(name, isCut ? 'is cut off from the API server' : 'reaches the API server again')
    onChange?.()
  }

  /** Restarts the replicas one after the other, the leaders last. During a restart, one more follows it. */
  async restart(): Promise<void> {
    if (this.#rollout !== 'none') {
      this.#rollout = 'again'
      return
    }
    do {
      this.#rollout = 'running'
      await this.#restartEach()
    } while (this.#isToRollAgain())
    this.#rollout = 'none'
  }

  /** Ends every process. Resolves when none is left. */
  async stop(): Promise<void> {
    await Promise.all([...this.#replicas.values()].map((replica) => replica.stop()))
  }

  /** Kills what `stop()` waits for. */
  hurry(): void {
    for (const replica of this.#replicas.values()) replica.hurry()
  }

  #isToRollAgain(): boolean {
    return this.#rollout === 'again'
  }

  async #restartEach(): Promise<void> {
    const leaders = await this.#options.leaders()
    const order = [...this.#replicas.values()].toSorted((a, b) => rank(a, leaders) - rank(b, leaders))
    for (const replica of order) {
      await replica.restart()
      await this.#untilReady(replica)
    }
  }

  /** A program without an operations port is never ready, and gets a moment. */
  async #untilReady(replica: Replica): Promise<void> {
    const { terminal, isReady } = this.#options
    const deadline = terminal.clock.now() + READY_MS
    while (replica.state === 'running' && terminal.clock.now() < deadline && !(await isReady(replica.name)))
      await pause(terminal, POLL_MS, terminal.interrupted)
  }

  #start(name: string): Replica {
    const { launch, say, stopTimeoutMs, terminal, onChange = () => {} } = this.#options
    return new Replica({
      name,
      launch: () => launch(name),
      say: (text) => say(name, text),
      stopTimeoutMs,
      terminal,
      onChange,
    })
  }
}

/** The names of this many replicas. */
export function namesOfReplicas(size: number): readonly string[] {
  return Array.from({ length: size }, (_, index) => `replica-${index + 1}`)
}

/** Whether `tenure dev` gave this identity to a replica. */
export function isReplica(identity: string): boolean {
  return /^replica-\d+_/.test(identity)
}

/** The name of the replica with this identity. */
export function nameOfReplica(identity: string): string {
  return identity.split('_')[0] ?? ''
}

function rank({ name }: Replica, leaders: ReadonlySet<string>): number {
  return leaders.has(name) ? 1 : 0
}
