import assert from 'node:assert/strict'
import type { Lock, LockSnapshot, LockWatch } from '@tenure/core'

/** One report of a watch. */
export type WatchReport =
  | { readonly kind: 'changed'; readonly snapshot: LockSnapshot }
  | { readonly kind: 'up' }
  | { readonly kind: 'down'; readonly cause: Error }

/** Records the reports of a watch and waits for expected reports. */
export class WatchRecorder implements AsyncDisposable {
  readonly reports: WatchReport[] = []
  readonly #patienceMs: number
  #watch: LockWatch | undefined
  #onReport: () => void = () => {}

  private constructor(patienceMs: number) {
    this.#patienceMs = patienceMs
  }

  static start(lock: Lock, patienceMs: number): WatchRecorder {
    const recorder = new WatchRecorder(patienceMs)
    recorder.#watch = lock.watch({
      changed: (snapshot) => recorder.#record({ kind: 'changed', snapshot }),
      up: () => recorder.#record({ kind: 'up' }),
      down: (cause) => recorder.#record({ kind: 'down', cause }),
    })
    assert.deepEqual(recorder.reports, [], 'watch() must return before the observer is called')
    return recorder
  }

  get snapshots(): LockSnapshot[] {
    return this.reports.flatMap((report) => (report.kind === 'changed' ? [report.snapshot] : []))
  }

  get last(): LockSnapshot | undefined {
    return this.snapshots.at(-1)
  }

  /** Waits until the watch is up and has reported the lease. */
  async untilUp(): Promise<void> {
    await this.until('the watch is up and has reported the lease', () => {
      return this.last !== undefined && this.reports.some((report) => report.kind === 'up')
    })
  }

  /** Waits until the condition holds. @throws Error that names the condition after the time limit */
  async until(what: string, condition: () => boolean): Promise<void> {
    if (condition()) return
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`Expected that ${what} within ${this.#patienceMs} ms, got reports ${describe(this.reports)}`))
      }, this.#patienceMs)
      this.#onReport = () => {
        if (!condition()) return
        clearTimeout(timer)
        this.#onReport = () => {}
        resolve()
      }
    })
  }

  async close(): Promise<void> {
    await this.#watch?.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  #record(report: WatchReport): void {
    this.reports.push(report)
    this.#onReport()
  }
}

function describe(reports: readonly WatchReport[]): string {
  const words = reports.map((report) => {
    if (report.kind !== 'changed') return report.kind
    return `${report.snapshot.kind}@${report.snapshot.version ?? '?'}`
  })
  return `[${words.join(', ')}]`
}
