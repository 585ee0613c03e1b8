import { DEFECTS } from './defects.ts'
import { canDo, Fleet } from './fleet.ts'
import type { LogLine, Run } from './run.ts'
import { type Action, formatScript, parseScript, scriptOf, type ScriptStep } from './script.ts'
import type { Overlap, TermLife } from './term-life.ts'

/** How long the actions of a seed go on. */
const SEED_SCRIPT_MS = 60_000

/** How long to look for the next thing that happens. */
const LONGEST_STEP_MS = 20_000

/** What makes a run: the same gives the same run. */
export interface RunOptions {
  readonly seed: number
  /** The id of a defect of `DEFECTS`. */
  readonly defect: string | undefined
  /** What a reader does. */
  readonly script: readonly ScriptStep[]
}

/**
 * Reads the part of an address after `#`: `seed=42` with the actions of the seed, or `seed=1&defect=B5&script=3000.pause.1` with these.
 * @throws RangeError that names the part that cannot be read
 */
export function parseAddress(hash: string): RunOptions {
  const parts = new URLSearchParams(hash.replace(/^#/, ''))
  const unknown = [...parts.keys()].find((key) => !['seed', 'defect', 'script'].includes(key))
  if (unknown !== undefined) throw new RangeError(`Expected \`seed\`, \`defect\` and \`script\`, got \`${unknown}\``)
  const given = parts.get('seed')
  const seed = parseSeed(given ?? '1')
  const script = parts.get('script')
  const defect = parts.get('defect') ?? undefined
  if (defect !== undefined && !DEFECTS.some(({ id }) => id === defect))
    throw new RangeError(
      `Expected \`defect\` to be one of ${DEFECTS.map(({ id }) => id).join(', ')}, got \`${defect}\``,
    )
  if (script !== null) return { seed, defect, script: parseScript(script) }
  return { seed, defect, script: given === null ? [] : scriptOf(seed, SEED_SCRIPT_MS) }
}

function parseSeed(text: string): number {
  if (/^\d{1,10}$/.test(text) && Number(text) < 2 ** 32) return Number(text)
  throw new RangeError(`Expected \`seed\` to be a whole number below 2^32, got \`${text}\``)
}

/** A run that a reader watches and changes: a fleet, and the actions that were and will be done to it. */
export class Session implements Run {
  readonly fleet: Fleet
  readonly #options: RunOptions
  readonly #done: ScriptStep[] = []
  #waiting: readonly ScriptStep[]

  constructor(options: RunOptions) {
    this.#options = options
    this.#waiting = options.script
    this.fleet = new Fleet(options)
  }

  get now(): number {
    return this.fleet.now
  }

  get terms(): readonly TermLife[] {
    return this.fleet.terms
  }

  get overlaps(): readonly Overlap[] {
    return this.fleet.overlaps
  }

  get log(): readonly LogLine[] {
    return this.fleet.log
  }

  get names(): readonly string[] {
    return this.fleet.replicas.map(({ name }) => name)
  }

  /** What was done and what waits to be done. */
  get script(): readonly ScriptStep[] {
    return [...this.#done, ...this.#waiting]
  }

  /** With everything that the reader did. */
  async address(): Promise<string> {
    const { seed, defect } = this.#options
    return `seed=${seed}${defect === undefined ? '' : `&defect=${defect}`}&script=${formatScript(this.script)}`
  }

  /** Does what a reader does now. */
  act(action: Action, replica: number): void {
    const subject = this.fleet.replicas[replica - 1]
    if (subject === undefined || !canDo(subject, action)) return
    this.#done.push({ at: this.fleet.now, action, replica })
    this.fleet.act(action, replica)
  }

  /** Does what the script says meanwhile. */
  async advance(ms: number): Promise<void> {
    const until = this.fleet.now + Math.round(ms)
    for (let next = this.#waiting[0]; next !== undefined && next.at <= until; next = this.#waiting[0]) {
      await this.fleet.advance(Math.max(0, next.at - this.fleet.now))
      this.#waiting = this.#waiting.slice(1)
      this.#done.push(next)
      this.fleet.act(next.action, next.replica)
    }
    await this.fleet.advance(until - this.fleet.now)
  }

  async step(): Promise<void> {
    const { length } = this.fleet.log
    const until = this.fleet.now + LONGEST_STEP_MS
    do await this.advance(1)
    while (this.fleet.log.length === length && this.fleet.now < until)
  }
}
