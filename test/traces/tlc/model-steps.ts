import type { TraceAct, TraceLine, TraceWrite } from '@tenure/core/internal'
import { Clocks } from './clocks.ts'
import { partsOf, type TracePart } from './parts.ts'
import { RecordTable } from './record-table.ts'
import { StoredVersions } from './stored-versions.ts'

/** A step of a trace for the model: its kind, its process, and what `Happens` of `Trace.tla` needs for the kind. */
export type ModelStep = readonly (string | number | boolean | readonly number[])[]

/** A trace in the terms of the model. */
export interface ModelTrace {
  readonly steps: readonly ModelStep[]
  readonly records: RecordTable
  /** How many electors there are. */
  readonly electors: number
  /** Whether a replica waits before it acts where there was no lease. */
  readonly waits: boolean
}

/** Translates the lines of a trace of one file, in the order of true time. A line that cannot be translated becomes a step that is impossible. */
export function modelStepsOf(lines: readonly TracePart[]): ModelTrace {
  return new Translation(lines).run()
}

const HOLDING: ReadonlySet<string> = new Set(['reserving', 'leading', 'draining', 'releasing'])
/** States that end without a step of the model. */
const MAY_GIVE_UP: ReadonlySet<string> = new Set(['acquiring', 'reserving', 'releasing'])
/** States with a term, or after one. */
const OF_TERM: ReadonlySet<string> = new Set(['leading', 'draining', 'aborting', 'releasing'])
const OF_HOLDER: ReadonlySet<string> = new Set(['renew', 'release', 'transfer'])

/** Whether an elector takes in the answer to a write. If not, it sees later what became of the write. */
function heeds({ state, inFlight }: Elector, purpose: TraceWrite['u'] | undefined, q: number): boolean {
  if (purpose === 'acquire') return state === 'acquiring'
  return purpose === 'answer' || purpose === 'announce' ? state === 'following' : HOLDING.has(state) && q === inFlight
}

/** What an elector waits for. */
class Elector {
  state = 'idle'
  /** The purposes of its writes. */
  readonly purposes = new Map<number, TraceWrite['u']>()
  inFlight: number | undefined
  reading: number | undefined
}

class Translation {
  readonly #lines: readonly TracePart[]
  readonly #steps: ModelStep[] = []
  readonly #records: RecordTable
  readonly #versions: StoredVersions
  readonly #clocks: Clocks
  readonly #electors: readonly Elector[]
  readonly #waits: boolean

  constructor(lines: readonly TracePart[]) {
    this.#lines = lines
    const { headers, steps } = partsOf(lines)
    this.#records = new RecordTable(headers.map(({ identity }) => identity))
    this.#versions = new StoredVersions(steps)
    this.#clocks = new Clocks(steps, headers.length)
    this.#electors = headers.map(() => new Elector())
    this.#waits = headers.some(({ missingLease }) => missingLease === 'wait')
  }

  run(): ModelTrace {
    for (const line of this.#lines) if ('p' in line) this.#take(line)
    this.#steps.push(['end of trace', 0])
    return { steps: this.#steps, records: this.#records, electors: this.#electors.length, waits: this.#waits }
  }

  #take(line: TraceLine): void {
    const elector = this.#electors[line.p - 1]
    if (elector === undefined) return void this.#steps.push(['no elector', line.p])
    const before = this.#steps.length
    this.#happens(line, elector)
    this.#changesHands(line, elector)
    // A follower may see that an earlier acquisition of its own has happened, and decline it.
    const mayDecline = elector.state === 'following' && this.#steps.length > before
    if ((mayDecline || MAY_GIVE_UP.has(elector.state)) && !HOLDING.has(line.s)) this.#steps.push(['give up', line.p])
    for (const act of line.d ?? []) this.#acts(line, elector, act)
    if (this.#steps.length > before || line.s !== elector.state) this.#steps.push(['state', line.p, line.s])
    if (this.#steps.length > before) this.#steps.splice(before, 0, ['pass', this.#clocks.passedUntil(line)])
    elector.state = line.s
  }

  #changesHands({ s }: TraceLine, elector: Elector): void {
    const isHolding = HOLDING.has(s)
    if (isHolding === HOLDING.has(elector.state)) return
    elector.reading = undefined
    elector.inFlight = undefined
  }

  #happens(line: TraceLine, elector: Elector): void {
    switch (line.e) {
      case 'observed':
        return this.#sees(line)
      case 'read-answer':
        this.#steps.push(['return', line.p, line.q ?? 0])
        if (line.f === undefined && line.q === elector.reading) this.#sees(line)
        return
      case 'write-answer':
        return this.#answered(line, elector)
      case 'drained':
        return void this.#steps.push(['drained', line.p])
      case 'holder-dead':
        return void this.#steps.push(['dead', line.p, this.#records.elector(line.h), this.#records.time(line.a)])
      default:
    }
  }

  #answered(line: TraceLine, elector: Elector): void {
    const { p, q = 0, f, v, r } = line
    const purpose = elector.purposes.get(q)
    const isHeeded = heeds(elector, purpose, q)
    if (elector.inFlight === q) elector.inFlight = undefined
    if (f !== undefined) return void this.#steps.push([f === 'unknown-outcome' ? 'return' : 'fail', p, q])
    this.#store(v)
    this.#steps.push(['succeed', p, q, this.#versions.place(v), this.#records.number(r)])
    if (isHeeded) this.#sees(line)
  }

  #sees({ p, v, r }: TraceLine): void {
    // The first version of the model is that there is no lease.
    if (r === undefined) return void this.#steps.push(['see', p, 1, 0])
    this.#store(v)
    this.#steps.push(['see', p, this.#versions.place(v), this.#records.number(r)])
  }

  /** The writes take effect that made the versions up to this one, at the latest before anybody sees them. */
  #store(version: TraceLine['v']): void {
    for (const { by, record } of this.#versions.storeUpTo(version)) {
      const number = this.#records.number(record)
      this.#steps.push(by === undefined ? ['edit', 0, number] : ['effect', by.p, by.q, number])
    }
  }

  #acts(line: TraceLine, elector: Elector, act: TraceAct): void {
    const { p } = line
    switch (act.u) {
      case 'read':
        elector.reading = act.q
        return void this.#steps.push(['read', p, act.q])
      case 'begin':
        return void this.#steps.push(['begin', p, this.#versions.place(act.k), this.#ticksLeft(line, act.until)])
      case 'until':
        // A renewal that another client has edited since prolongs and shortens the term in one step.
        if (act === line.d?.findLast(({ u }) => u === 'until'))
          this.#steps.push(['until', p, this.#ticksLeft(line, act.until)])
        return
      case 'end':
        return void this.#steps.push(['end', p, act.voluntary])
      case 'over':
        return void this.#steps.push(['over', p, act.outcome])
      case 'acquire':
      case 'renew':
      case 'release':
      case 'transfer':
      case 'answer':
      case 'announce':
        return this.#sends(p, elector, act)
      default:
    }
  }

  #sends(p: number, elector: Elector, { u, q, b, r }: TraceWrite): void {
    elector.purposes.set(q, u)
    if (OF_HOLDER.has(u)) elector.inFlight = q
    const base = b === undefined ? 1 : this.#versions.place(b)
    if (u === 'release' && !OF_TERM.has(elector.state)) this.#steps.push(['empty', p])
    if (u === 'answer') this.#records.noteNonce(p, r.y?.[1])
    this.#steps.push(['send', p, u, q, base, this.#records.number(r)])
  }

  #ticksLeft({ t }: TraceLine, until: number): number {
    return Clocks.ticks(until) - Clocks.ticks(t)
  }
}
