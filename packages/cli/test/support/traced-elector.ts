import type { Clock } from '@tenure/core'
import { TraceWriter } from '@tenure/core/internal'
import { PureElector } from '../../../core/test/election/pure-elector.ts'
import { checkFiles } from '../../src/check-trace/check-files.ts'
import type { TraceCheckerOptions } from '../../src/check-trace/trace-checker.ts'
import { TraceFile } from '../../src/check-trace/trace-file.ts'

/** An elector on a hand-moved clock, with its trace. */
export class TracedElector extends PureElector {
  readonly lines: string[] = []
  /** What happens between the decision and the reading of the machine's clock, and after that reading. */
  pauses = { before: 0, after: 0 }
  /** By how much its clock is ahead of that of the machine. */
  aheadMs = 0
  readonly #writer: TraceWriter
  readonly #clock: Clock = { now: () => this.now, wallTime: () => this.now, setTimer: () => ({ cancel: () => {} }) }
  readonly #traced = { lock: 'lease ops/janitor', clock: this.#clock }

  constructor(config: ConstructorParameters<typeof PureElector>[0] = {}, machine = 'test') {
    super(config)
    this.#writer = new TraceWriter({
      machine,
      machineTime: () => this.#machineTime(),
      write: (text) => this.lines.push(...text.trimEnd().split('\n')),
    })
  }

  override send(event: Parameters<PureElector['send']>[0]): ReturnType<PureElector['send']> {
    const { now, wallOffset, random, config } = this
    const effects = super.send(event)
    const at = { now, wallTime: wallOffset + now, random }
    this.#writer.take({ elector: this.#traced, config, at, event, effects, state: this.state })
    return effects
  }

  #machineTime(): number {
    this.now += this.pauses.before
    const machineMs = this.now - this.aheadMs
    this.now += this.pauses.after
    return machineMs
  }
}

/** The findings about the traces of some electors. */
export function check(...electors: readonly TracedElector[]): readonly string[] {
  return findingsOf(electors)
}

/** What `tenure check-trace --restored` finds in the traces of some electors. */
export function checkRestored(...electors: readonly TracedElector[]): readonly string[] {
  return findingsOf(electors, { mayRestore: true })
}

function findingsOf(electors: readonly TracedElector[], options?: TraceCheckerOptions): readonly string[] {
  const files = electors.map(({ config, lines }, index) => new TraceFile(`${index} ${config.identity}`, [lines]))
  return checkFiles(files, options).findings.map(({ rule, message }) => `${rule}: ${message}`)
}
