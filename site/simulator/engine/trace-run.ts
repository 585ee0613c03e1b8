import type { TraceAct, TraceHeader, TraceLine } from '@tenure/core/internal'
import { isHeader, isNote, LineReader, type Note } from '../../../packages/cli/src/check-trace/shape.ts'
import { TraceChecker } from '../../../packages/cli/src/check-trace/trace-checker.ts'
import type { LogLine, Run } from './run.ts'
import { type Overlap, overlapsOf, type TermLife } from './term-life.ts'
import { packTrace } from './trace-text.ts'

/** A parsed line, and where it is. */
interface Entry {
  readonly value: unknown
  readonly file: number
  readonly line: number
  readonly at: number
}

/** An elector of the trace. */
interface TracedElector {
  readonly identity: string
  term: TermLife | undefined
}

/**
 * The traces of real replicas, step by step: what each elector did, when its terms lasted, and what `tenure check-trace` finds wrong.
 * A term acts until it is over, and no longer than it is valid, or than its replica is
 * in the trace.
 */
export class TraceRun implements Run {
  readonly terms: TermLife[] = []
  readonly log: LogLine[] = []
  readonly names: string[] = []
  now = 0
  readonly #texts: readonly string[]
  readonly #entries: readonly Entry[]
  readonly #electors = new Map<string, TracedElector>()
  /** The last line of each elector. */
  readonly #lastLines: ReadonlySet<unknown>
  readonly #checker = new TraceChecker()
  #next = 0
  #found = 0

  /**
   * @param texts the contents of the files, as replicas write them with `TENURE_TRACE`
   * @throws RangeError when a line is no line of a trace
   */
  constructor(texts: readonly string[]) {
    this.#texts = texts
    const parsed = texts.flatMap((text, file) => parsedLines(text, file))
    const machines = new Set(parsed.flatMap(({ value }) => (isHeader(value) ? [value.machine] : [])))
    // The clocks of several machines cannot be compared. Their wall clocks are close.
    this.#entries = inOrder(parsed, machines.size > 1 ? 'w' : 'm')
    this.#lastLines = lastLinesOf(this.#entries)
  }

  get overlaps(): readonly Overlap[] {
    return overlapsOf(this.terms, this.now)
  }

  async advance(ms: number): Promise<void> {
    const until = this.now + ms
    for (let next = this.#entries[this.#next]; next !== undefined && next.at <= until; next = this.#entries[this.#next])
      this.#take(next)
    const last = this.#entries.at(-1)?.at ?? 0
    this.now = Math.max(this.now, Math.min(until, last))
  }

  async step(): Promise<void> {
    const { length } = this.log
    for (let next = this.#entries[this.#next]; next !== undefined; next = this.#entries[this.#next]) {
      this.#take(next)
      if (this.log.length > length) return
    }
  }

  async address(): Promise<string> {
    return `trace=${await packTrace(this.#texts)}`
  }

  #take(entry: Entry): void {
    const { value, file, line, at } = entry
    this.#next += 1
    this.now = Math.max(this.now, at)
    if (isHeader(value)) this.#begin(value, file)
    if (isLine(value)) this.#happens(value, file)
    if (isNote(value)) this.#say(value.by, value.note, value.note.startsWith('VIOLATED'))
    this.#checker.take(value, { file: String(file + 1), line })
    if (this.#next === this.#entries.length) this.#checker.end()
    for (const { rule, message, file: place, line: number } of this.#checker.findings.slice(this.#found))
      this.#say('', `Rule ${rule} is broken in line ${number} of file ${place}: ${message}`, true)
    this.#found = this.#checker.findings.length
  }

  #begin({ elector, identity }: TraceHeader, file: number): void {
    this.#electors.set(`${file} ${elector}`, { identity, term: undefined })
    if (!this.names.includes(identity)) this.names.push(identity)
    this.#say(identity, 'starts')
  }

  #happens(line: TraceLine, file: number): void {
    const elector = this.#electors.get(`${file} ${line.p}`)
    if (elector === undefined) return
    if (line.e === 'drained' && elector.term !== undefined) elector.term.to ??= this.now
    for (const act of line.d ?? []) this.#acts(elector, line, act)
    // It was killed, or its trace ends here.
    if (this.#lastLines.has(line) && elector.term !== undefined) elector.term.to ??= this.now
  }

  #acts(elector: TracedElector, line: TraceLine, act: TraceAct): void {
    const { identity, term } = elector
    switch (act.u) {
      case 'begin':
        elector.term = this.#termOf(identity, BigInt(act.k), this.now + act.until - line.t)
        this.#say(identity, `begins term ${act.k}`)
        break
      case 'until':
        if (term !== undefined) term.expiresAt = this.now + act.until - line.t
        break
      case 'end':
        if (term !== undefined) term.endingFrom ??= this.now
        this.#say(identity, `ends its term${act.voluntary ? '' : ' involuntarily'}: ${act.why}`)
        break
      case 'over':
        if (term !== undefined) {
          term.to ??= this.now
          term.outcome = act.outcome
        }
        this.#say(identity, `has given up its term: ${act.outcome}`)
        break
      case 'exit':
      case 'wedged':
      case 'stopped':
      case 'identity-taken':
        this.#say(identity, act.u)
        break
      default:
    }
  }

  #termOf(holder: string, epoch: bigint, expiresAt: number): TermLife {
    const life: TermLife = {
      holder,
      epoch,
      from: this.now,
      expiresAt,
      endingFrom: undefined,
      to: undefined,
      outcome: undefined,
      actedAt: this.now,
      pausedFrom: undefined,
      isExcused: true,
    }
    this.terms.push(life)
    return life
  }

  #say(who: string, what: string, isProblem = false): void {
    this.log.push({ at: this.now, who, what, isProblem })
  }
}

function parsedLines(text: string, file: number): readonly Omit<Entry, 'at'>[] {
  // A last line without its end was cut off: its process was killed while it wrote.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.flatMap((content, index) => {
    if (content === '') return []
    const value = parse(content)
    if (isHeader(value) || isLine(value) || isNote(value)) return [{ value, file, line: index + 1 }]
    throw new RangeError(
      `Expected line ${index + 1} of file ${file + 1} to be a line of a trace, got \`${content.slice(0, 60)}\``,
    )
  })
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function lastLinesOf(entries: readonly Entry[]): ReadonlySet<unknown> {
  const last = new Map<string, unknown>()
  for (const { value, file } of entries) if (isLine(value)) last.set(`${file} ${value.p}`, value)
  return new Set(last.values())
}

/** A header has no time: it is as late as the line before it in its file. */
function inOrder(parsed: readonly Omit<Entry, 'at'>[], clock: 'm' | 'w'): readonly Entry[] {
  const times = clock === 'm' ? parsed.map(({ value }) => (isTimed(value) ? value.m : undefined)) : wallTimesOf(parsed)
  const beginning = times.reduce<number>((least, time) => Math.min(least, time ?? least), Infinity)
  const latest = new Map<number, number>()
  const timed = parsed.map((entry, index): Entry => {
    const time = (times[index] ?? beginning) - beginning
    const at = isNote(entry.value) ? time : Math.max(latest.get(entry.file) ?? 0, time)
    if (!isNote(entry.value)) latest.set(entry.file, at)
    return { ...entry, at }
  })
  return timed.toSorted((a, b) => a.at - b.at)
}

/** The wall clock of each line. A line has it only if it did not go on as the clock of the elector since the line before. */
function wallTimesOf(parsed: readonly Omit<Entry, 'at'>[]): readonly (number | undefined)[] {
  const ahead = new Map<string, number>()
  return parsed.map(({ value, file }) => {
    if (!isLine(value)) return undefined
    const elector = `${file} ${value.p}`
    if (value.w !== undefined) ahead.set(elector, value.w - value.t)
    return value.t + (ahead.get(elector) ?? 0)
  })
}

const reader = new LineReader()

function isTimed(value: unknown): value is TraceLine | Note {
  return isLine(value) || isNote(value)
}

function isLine(value: unknown): value is TraceLine {
  return reader.read(value) !== undefined
}
