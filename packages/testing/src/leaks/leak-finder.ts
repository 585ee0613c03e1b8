import { collectGarbage } from './collect-garbage.ts'
import type { Recording } from './detector.ts'
import { type Group, groupsOf, leakOf, type Rearmed } from './leak-summary.ts'
import type { Leak } from './leak.ts'
import type { Description, Entry } from './ledger.ts'
import { listOpenFiles } from './open-files.ts'
import type { ResolvedLeakWatchOptions } from './options.ts'
import { placeOfValue } from './place-of-value.ts'
import { changesBetween, type ProcessState, readProcessState } from './process-state.ts'
import { whatKeepsTheProcessAlive } from './process-report.ts'
import { reportOf } from './report.ts'
import { retainersOf } from './retainers.ts'
import { roughSiteOf, type Sighting, sightingOf } from './sighting.ts'
import type { WatchPlace } from './watch-place.ts'
import { nextTurn, realDelay, realNow, unobserved } from './unobserved.ts'

/** The result of a search. */
export interface Findings {
  readonly leaks: readonly Leak[]
  /** The readable report. Empty when there are no leaks. */
  readonly report: string
}

interface Search {
  readonly findings: Findings
  readonly sightings: readonly Sighting[]
  readonly rearmed: Rearmed
}

const NOTHING: Findings = { leaks: [], report: '' }
/** Longer than a connection takes to close, shorter than a garbage collection. */
const FIRST_WAIT_MS = 4
const LONGEST_WAIT_MS = 200

/** Finds what was created after a watch began and still exists. */
export class LeakFinder {
  readonly #recording: Recording
  readonly #options: ResolvedLeakWatchOptions
  readonly #place: () => WatchPlace
  readonly #filesBefore: ReadonlyMap<number, string> = listOpenFiles()
  readonly #stateBefore: ProcessState = readProcessState()

  /** Calls `place` for a leak whose creation was not recorded. */
  constructor(recording: Recording, options: ResolvedLeakWatchOptions, place: () => WatchPlace) {
    this.#recording = recording
    this.#options = options
    this.#place = place
  }

  /**
   * Looks repeatedly, with growing waits, until nothing is left or the grace ends. Cleanup that is still under way is not a leak.
   * Collects garbage after each wait that did not help, because unreachable objects are not leaks.
   */
  async find(graceMs: number = this.#options.graceMs): Promise<Findings> {
    const { findings } = await this.#search(graceMs, () => true)
    return findings
  }

  /**
   * Like {@link find}, but omits leaks that another watch has thrown. So a test whose own check failed does not fail again with the
   * same leaks.
   */
  async findUnreported(graceMs: number = this.#options.graceMs): Promise<Findings> {
    const { reported } = this.#recording.ledger
    const isReported = (sighting: Sighting) => reported.has(idOf(sighting)) || reported.has(loopOf(sighting))
    const { findings, sightings, rearmed } = await this.#search(graceMs, (sighting) => !isReported(sighting))
    for (const sighting of sightings) {
      reported.add(idOf(sighting))
      if ((rearmed.get(roughSiteOf(sighting.entry)) ?? 0) > 0) reported.add(loopOf(sighting))
    }
    return findings
  }

  async #search(graceMs: number, counts: (sighting: Sighting) => boolean): Promise<Search> {
    const look = () => this.#look(seen).filter(counts)
    const start = realNow()
    await nextTurn()
    await nextTurn()
    const seen = new Map<string, Set<number>>()
    let sightings = look()
    for (let waitMs = FIRST_WAIT_MS; sightings.length > 0; waitMs = Math.min(waitMs * 2, LONGEST_WAIT_MS)) {
      const leftMs = graceMs - (realNow() - start)
      await realDelay(Math.max(0, Math.min(waitMs, leftMs)))
      sightings = look()
      if (sightings.length === 0) break
      await collectGarbage()
      sightings = look()
      if (leftMs <= 0) break
    }
    const rearmed = rearmedOf(sightings, seen)
    return { findings: await this.#summarize(sightings, rearmed, realNow() - start), sightings, rearmed }
  }

  #look(seen: Map<string, Set<number>>): readonly Sighting[] {
    return unobserved(() => {
      const { ledger, since } = this.#recording
      const entries = ledger.aliveSince(since)
      const sightings = entries.flatMap((entry) => sightingOf(entry, this.#options) ?? [])
      for (const { entry } of sightings) {
        const site = roughSiteOf(entry)
        seen.set(site, (seen.get(site) ?? new Set()).add(entry.serial))
      }
      return [...sightings, ...this.#unexplainedFiles(entries), ...this.#changedState()]
    })
  }

  /** Descriptors that no wrapped function opened: native code did, or a function that was copied before the watch. */
  #unexplainedFiles(entries: readonly Entry[]): readonly Sighting[] {
    if (this.#options.ignoredKinds.has('file-descriptor')) return []
    const explained = new Set(entries.map(({ thing }) => thing.fd))
    return [...listOpenFiles()].flatMap(([fd, path]) => {
      if (explained.has(fd) || this.#filesBefore.get(fd) === path) return []
      return [unexplained(fd, path)]
    })
  }

  /** Changes to the state of the process. */
  #changedState(): readonly Sighting[] {
    const { ledger, pools } = this.#recording
    return changesBetween(this.#stateBefore, readProcessState(this.#stateBefore)).flatMap(({ kind, name, value }) => {
      const maker = typeof value === 'object' && value !== null ? pools.makerOf(value) : undefined
      const { trace, origin = {} } = ledger.setterOf(name) ?? maker ?? {}
      const description = { kind, detail: `\`${name}\``, isValue: trace === undefined }
      const thing = { isAlive: () => true, describe: () => description }
      return sightingOf({ serial: -1, thing, trace: trace ?? placeOfValue(value), origin }, this.#options) ?? []
    })
  }

  async #summarize(sightings: readonly Sighting[], rearmed: Rearmed, waitedMs: number): Promise<Findings> {
    const groups = groupsOf(sightings, rearmed)
    if (groups.length === 0) return NOTHING
    const holders = this.#options.retainers ? await holdersOf(groups) : []
    const leaks = groups.map((group, index) =>
      leakOf(group, { rearmed, heldBy: holders[index] ?? '', place: this.#place }),
    )
    const report = reportOf(leaks, waitedMs, await whatKeepsTheProcessAlive(sightings.flatMap(handleOf)))
    return { leaks, report }
  }
}

/** For each place, the number of sightings that no longer exist. */
function rearmedOf(sightings: readonly Sighting[], seen: ReadonlyMap<string, ReadonlySet<number>>): Rearmed {
  const there = new Map<string, number>()
  for (const { entry } of sightings) there.set(roughSiteOf(entry), (there.get(roughSiteOf(entry)) ?? 0) + 1)
  return new Map([...there].map(([site, count]) => [site, (seen.get(site)?.size ?? count) - count]))
}

/** What holds the first object of each group. Empty for open resources. */
async function holdersOf(groups: readonly Group[]): Promise<readonly string[]> {
  const retained = groups.flatMap(([{ entry, description }], index) => {
    const ref = entry.thing.retained
    return ref === undefined ? [] : [{ index, ref, name: nameOf(entry, description) }]
  })
  const paths = await retainersOf(retained)
  const holders = groups.map(() => '')
  for (const [at, { index }] of retained.entries()) holders[index] = paths[at] ?? ''
  return holders
}

function nameOf({ origin: { controller, epoch } }: Entry, { kind, detail }: Description): string {
  if (kind === 'term') return epoch === undefined ? 'Term' : `Term (epoch ${epoch})`
  return kind === 'controller' ? `Controller \`${controller}\`` : (detail ?? kind)
}

/** A loop shows a different timer at each look, always from the same place. */
function loopOf({ entry, description }: Sighting): string {
  return `loop of ${description.kind} ${roughSiteOf(entry)}`
}

/** Identifies a leak across watches: an entry of the ledger, or the name of a process state. */
function idOf({ entry, description }: Sighting): Entry | string {
  return entry.serial < 0 ? `${description.kind} ${description.detail}` : entry
}

function unexplained(fd: number, path: string): Sighting {
  const entry: Entry = {
    serial: -1,
    thing: { isAlive: () => true, describe: () => undefined },
    origin: {},
    trace: [],
  }
  return {
    entry,
    description: { kind: 'file-descriptor', detail: `${fd} of ${path}` },
    frames: [],
    site: '',
  }
}

function handleOf({ entry, description, frames }: Sighting): Parameters<typeof whatKeepsTheProcessAlive>[0] {
  const { resource: held } = entry.thing
  const resource = held?.deref()
  if (held === undefined || resource === undefined || description.isRef !== true) return []
  return [{ type: held.type, resource, frames }]
}
