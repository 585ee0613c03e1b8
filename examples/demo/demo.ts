import { Fleet } from './fleet/fleet.ts'
import type { ReplicaExit, ReplicaProcess } from './fleet/replica-process.ts'
import { LeakWatch } from './observer/leak-watch.ts'
import type { DemoOptions } from './options.ts'
import { Chronicle } from './record/chronicle.ts'
import type { Summary } from './record/summary.ts'
import type { ReplicaReport } from './replica/messages.ts'
import { Screen } from './terminal/screen.ts'
import { replicaTable } from './terminal/table.ts'
import { Progress, QuitError } from './tour/progress.ts'

const REPLICAS = ['replica-a', 'replica-b', 'replica-c']

/** The replicas and the record of their terms. Owns the processes; ends all of them on every way out. */
export class Demo {
  readonly options: DemoOptions
  readonly screen: Screen
  readonly chronicle: Chronicle = new Chronicle()
  readonly leaks: LeakWatch = new LeakWatch()
  readonly progress: Progress = new Progress()
  readonly fleet: Fleet
  /** What went wrong and fails the demo although it goes on. */
  readonly problems: string[] = []

  constructor(options: DemoOptions) {
    this.options = options
    this.fleet = new Fleet({
      reported: (replica, report) => this.#reported(replica, report),
      exited: (replica, exit) => this.#exited(replica, exit),
    })
    this.screen = new Screen(process.stdout, () => replicaTable(this.fleet.members, this.chronicle))
  }

  /** Runs to the end and resolves with the summary. */
  async run(): Promise<Summary> {
    const kill = () => this.fleet.kill()
    process.once('exit', kill)
    this.screen.open()
    try {
      for (const name of REPLICAS) this.fleet.start(name)
      // To load a Kubernetes client takes about as long as to start a replica, so both happen at once.
      const { perform } = await import('./perform.ts')
      return await perform(this)
    } finally {
      await this.fleet.stop()
      this.screen.close()
      process.removeListener('exit', kill)
    }
  }

  /** Writes a line of the story. */
  tell(text: string): void {
    this.screen.line(`${(performance.now() / 1000).toFixed(1).padStart(6)} s  ${text}`)
  }

  /** Ends everything early, in order. */
  quit(): void {
    this.progress.abort(new QuitError())
  }

  #reported(replica: ReplicaProcess, report: ReplicaReport): void {
    this.chronicle.take(replica, report)
    if (report.kind === 'term-began') this.leaks.termBegan(replica)
    if (report.kind === 'term-over') this.leaks.termOver(replica, report.epoch)
    // Controllers are restarted: this is worth a line, but no failure of the demo.
    if (report.kind === 'controller-failed') this.tell(`the controller of ${replica.name} failed: ${report.error}`)
    if (report.kind === 'holdings') this.leaks.followerHolds(replica, report.holdings)
    this.#changed()
  }

  #exited(replica: ReplicaProcess, { at, code, signal }: ReplicaExit): void {
    this.chronicle.gone(replica, at)
    this.leaks.gone(replica)
    this.#changed()
    if (replica.isLeaving) return
    const { name, pid, log } = replica
    this.progress.abort(new Error(`${name} (PID ${pid}) ended by itself, with ${code ?? signal}:\n${log}`))
  }

  #changed(): void {
    this.screen.refresh()
    this.progress.changed()
  }
}
