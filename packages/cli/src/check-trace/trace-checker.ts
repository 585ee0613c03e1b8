import { TRACE_FORMAT, type TraceHeader, type TraceRecord } from '@tenure/core/internal'
import { acts, isDrained, settles } from './acts.ts'
import type { Finding } from './finding.ts'
import { LeaseRun, type Place } from './lease-run.ts'
import { EPSILON_MS, ms } from './times.ts'
import { HOLDING, Replica } from './replica.ts'
import { isOfTerm, type Version } from './records.ts'
import { ceasesToWait, inherits } from './holding.ts'
import { isAnswered, isRead, sees } from './sightings.ts'
import { Step } from './step.ts'
import { changesState } from './transitions.ts'
import { isHeader, isNote, type Line, LineReader } from './shape.ts'

/** Options of a {@link TraceChecker}. */
export interface TraceCheckerOptions {
  /** Whether the store of the lease was restored during the run. Then less is checked. @default false */
  readonly mayRestore?: boolean
}

/**
 * Decides whether the traces of a fleet are a behaviour of the specification. Takes the lines in the order of the clock of their machine.
 *
 * It knows what each replica was sent, so it computes what that replica may do; it shares no code with the elector.
 */
export class TraceChecker {
  readonly findings: Finding[] = []
  /** How many steps were taken in. */
  events = 0
  readonly #mayRestore: boolean
  readonly #reader = new LineReader()
  readonly #leases = new Map<string, LeaseRun>()
  readonly #replicas = new Map<string, Map<number, Step>>()
  readonly #report = (finding: Finding): void => void this.findings.push(finding)

  constructor({ mayRestore = false }: TraceCheckerOptions = {}) {
    this.#mayRestore = mayRestore
  }

  /** Takes a parsed line of a file. Returns whether it is one of a trace. */
  take(value: unknown, place: Place): boolean {
    const line = this.#reader.read(value)
    if (line !== undefined) this.#step(line, place)
    else if (isHeader(value)) this.#begin(value, place)
    else return isNote(value)
    return true
  }

  /** Takes in that a line of a file is nothing that is known. */
  refuse(place: Place): void {
    this.#report({ rule: 'format', ...place, message: 'this is no line of a trace' })
  }

  /** Takes in that somebody else saw this version of the lease. */
  takeVersion(lock: string, version: Version, record: TraceRecord, place: Place): void {
    this.#lease(lock).noteVersion(version, { record }, place)
  }

  /** Checks what can only be known at the end. */
  end(): readonly Finding[] {
    for (const lease of this.#leases.values()) lease.end()
    return this.findings
  }

  #begin(header: TraceHeader, place: Place): void {
    const electors = this.#replicas.get(place.file) ?? new Map()
    this.#replicas.set(place.file, electors)
    if (header.format !== TRACE_FORMAT)
      this.#report({ rule: 'format', ...place, message: `the format is ${header.format} instead of ${TRACE_FORMAT}` })
    if (electors.has(header.elector))
      this.#report({ rule: 'order', ...place, message: `elector ${header.elector} has two headers` })
    electors.set(
      header.elector,
      new Step(new Replica(header, place.file), this.#lease(header.lock), place, this.#report),
    )
  }

  #lease(lock: string): LeaseRun {
    const known = this.#leases.get(lock)
    if (known !== undefined) return known
    const lease = new LeaseRun(this.#mayRestore, this.#report)
    this.#leases.set(lock, lease)
    return lease
  }

  #step(line: Line, place: Place): void {
    this.events += 1
    const step = this.#replicas.get(place.file)?.get(line.p)
    if (step === undefined)
      return this.#report({ rule: 'format', ...place, message: `elector ${line.p} has no header before this line` })
    const { replica, lease } = step
    step.next(line, place)
    follows(step)
    const earliest = replica.earliest(line)
    if (replica.doubts.length > 0) lease.settleDoubts(replica, earliest, line.t)
    lease.assertAlive(replica, earliest, place)
    replica.machineAt = line.m
    replica.at = line.t
    replica.apartMs = line.j ?? 0
    replica.line = place.line
    replica.steps = line.n
    isCoordinated(step)
    replica.coordination = line.c
    happens(step)
    changesHands(step)
    if (line.d !== undefined) for (const act of line.d) acts(step, act)
    changesState(step)
    settles(step)
    replica.state = line.s
  }
}

/** Checks the number and the times of a line. */
function follows(step: Step): void {
  const { replica, line } = step
  if (line.n !== replica.steps + 1)
    step.broken('order', `step ${line.n} of ${replica.identity} follows step ${replica.steps}`)
  const behindMs = replica.fallsBehind(line)
  if (replica.steps === 0)
    return void (line.e !== 'start' && step.broken('order', 'the trace does not begin with a start'))
  if (line.e === 'start') step.broken('order', `${replica.identity} starts again`)
  if (line.m < replica.machineAt) step.broken('order', `the clock of the machine goes back at ${replica.identity}`)
  const passedMs = line.t - replica.at
  if (passedMs < 0) return step.broken('order', `the clock of ${replica.identity} goes back by ${ms(-passedMs)}`)
  if (passedMs + EPSILON_MS < replica.apartMs)
    step.broken('order', `${replica.identity} decides ${ms(passedMs)} after a step that took ${ms(replica.apartMs)}`)
  if (behindMs > EPSILON_MS)
    step.broken(
      'clock',
      `the clock of ${replica.identity} falls ${ms(behindMs)} further behind its machine than it may`,
    )
}

/** Checks that a lease has a coordinator in all steps, or in none. */
function isCoordinated(step: Step): void {
  const { replica, line } = step
  if (replica.steps > 1 && (line.c === undefined) !== (replica.coordination === undefined))
    step.broken('format', 'only a part of the lines says who decides which replica leads')
}

/** Takes in that a step begins or ends to hold the lease. */
function changesHands(step: Step): void {
  const { replica, line, before } = step
  const isHolding = HOLDING.has(line.s)
  if (isHolding === HOLDING.has(before)) return
  replica.reading = undefined
  if (isHolding && replica.grant === undefined) inherits(step)
}

/** Takes in the event of a step. Every other event only lets the elector act. */
function happens(step: Step): void {
  EVENTS.get(step.line.e)?.(step)
}

const EVENTS: ReadonlyMap<string, (step: Step) => void> = new Map([
  ['observed', (step) => sees(step)],
  ['read-answer', isRead],
  ['write-answer', isAnswered],
  ['watch-up', ({ replica }) => void (replica.isWatching = true)],
  ['watch-down', ({ replica }) => void (replica.isWatching = false)],
  ['drained', isDrained],
  ['holder-dead', isDead],
] satisfies readonly (readonly [string, (step: Step) => void])[])

/** The holder is proved dead, if it still holds the lease, or held it until it was deleted. */
function isDead({ replica, lease, line }: Step): void {
  const { view, replaced, header } = replica
  if (line.h === undefined || view === undefined) return
  const dead = { h: line.h, a: line.a }
  const isReplaced = replaced !== undefined && isOfTerm(dead, replaced.record)
  if (view.record !== undefined && !isOfTerm(dead, view.record) && !isReplaced) return
  replica.dead = dead
  if (isReplaced) ceasesToWait(replica)
  lease.noteDeath(header.machine, dead, line.m)
}
