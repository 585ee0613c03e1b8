import { type ChildProcess, fork } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import type { HerdCommand, HerdReport } from './messages.ts'
import type { StandingSetup } from './standing.ts'

/** The time limit for a step of a round. */
const PATIENCE_MS = 60_000

/** Replicas of one lease in a few processes. */
export class HerdFleet {
  readonly #processOf = new Map<string, ChildProcess>()
  readonly #setups: ReadonlyMap<string, StandingSetup>
  readonly #states = new Map<string, Extract<HerdReport, { kind: 'state' }>>()
  readonly #changes = new EventEmitter()
  #renewals = 0

  constructor(setups: readonly StandingSetup[], processes: number) {
    this.#setups = new Map(setups.map((setup) => [setup.user, setup]))
    const children = Array.from({ length: processes }, () => this.#fork())
    for (const [index, { user }] of setups.entries()) {
      const child = children[index % processes]
      if (child !== undefined) this.#processOf.set(user, child)
    }
  }

  /** The leader, if exactly one replica leads. */
  get leader(): string | undefined {
    const [leader, ...others] = [...this.#states.values()].filter(({ state }) => state === 'leading')
    return others.length === 0 ? leader?.user : undefined
  }

  /** The number of followers of this leader. */
  followersOf(leader: string): number {
    return [...this.#states.values()].filter((seen) => seen.state === 'following' && seen.leader === leader).length
  }

  start(user: string): void {
    const setup = this.#setups.get(user)
    if (setup !== undefined) this.#send(user, { kind: 'start', setup })
  }

  stepDown(user: string): void {
    this.#send(user, { kind: 'step-down', user })
  }

  async renewal(): Promise<void> {
    const before = this.#renewals
    await this.until(() => this.#renewals > before)
  }

  /** Resolves when the condition holds. @throws Error after the time limit */
  async until(isSo: () => boolean): Promise<void> {
    const signal = AbortSignal.timeout(PATIENCE_MS)
    while (!isSo()) await once(this.#changes, 'change', { signal })
  }

  async stop(): Promise<void> {
    const children = [...new Set(this.#processOf.values())]
    const exits = children.map((child) => once(child, 'exit'))
    for (const child of children) child.disconnect()
    await Promise.all(exits)
  }

  #fork(): ChildProcess {
    const child = fork(join(import.meta.dirname, 'herd-process.ts'), { execArgv: ['--conditions=@tenure/source'] })
    child.on('message', (report: HerdReport) => {
      if (report.kind === 'renewed') this.#renewals++
      else this.#states.set(report.user, report)
      this.#changes.emit('change')
    })
    return child
  }

  #send(user: string, command: HerdCommand): void {
    this.#processOf.get(user)?.send(command)
  }
}
