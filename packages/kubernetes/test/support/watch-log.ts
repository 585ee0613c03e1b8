import { EventEmitter, once } from 'node:events'
import type { LockObserver, LockSnapshot } from '@tenure/core'

/** An observer that records its calls, in short. */
export class WatchLog implements LockObserver {
  readonly lines: string[] = []
  readonly causes: Error[] = []
  readonly #emitter = new EventEmitter()

  readonly changed = (snapshot: LockSnapshot): void => {
    const holder = snapshot.kind === 'present' ? ` ${snapshot.record.holderIdentity}` : ''
    this.#write(`${snapshot.kind}@${snapshot.version}${holder}`)
  }

  readonly up = (): void => this.#write('up')

  readonly down = (cause: Error): void => {
    this.causes.push(cause)
    this.#write('down')
  }

  /** Resolves when that many lines were written. */
  async until(count: number): Promise<readonly string[]> {
    while (this.lines.length < count) await once(this.#emitter, 'line')
    return this.lines
  }

  #write(line: string): void {
    this.lines.push(line)
    this.#emitter.emit('line')
  }
}
