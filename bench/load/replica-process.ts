import { fork, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import type { Command, ReplicaSetup, Report } from './messages.ts'

/** A started replica. */
export class ReplicaProcess {
  readonly #child: ChildProcess
  readonly #reports = new EventEmitter().setMaxListeners(0)

  private constructor(child: ChildProcess, onReport: (report: Report) => void) {
    this.#child = child
    child.on('message', (report: Report) => {
      onReport(report)
      this.#reports.emit(report.kind, report)
    })
  }

  static start(setup: ReplicaSetup, onReport: (report: Report) => void): ReplicaProcess {
    const execArgv = ['--conditions=@tenure/source', ...(process.env['LOAD_PROFILE'] ? ['--cpu-prof'] : [])]
    const child = fork(join(import.meta.dirname, 'replica.ts'), [JSON.stringify(setup)], { execArgv })
    return new ReplicaProcess(child, onReport)
  }

  send(command: Command): void {
    this.#child.send(command)
  }

  /** The processor time that it has used so far. */
  async usage(): Promise<Extract<Report, { kind: 'usage' }>> {
    const answer = once(this.#reports, 'usage') as Promise<[Extract<Report, { kind: 'usage' }>]>
    this.send({ kind: 'usage' })
    const [usage] = await answer
    return usage
  }

  async stop(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.send({ kind: 'stop' })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 60_000)
    await exited
    clearTimeout(timer)
  }
}
