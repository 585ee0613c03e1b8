import { readOffer, readRequest, readStandbys, type Timer } from '@tenure/core/internal'
import type { Terminal } from '../terminal.ts'
import { changeLine } from '../watch/change-line.ts'
import { changesOf, type LeaseHistory } from '../watch/lease-changes.ts'
import { leaseOf, type RecordedSighting } from '../watch/watch-log.ts'
import { type TermBand, withChange } from './term-bands.ts'

/** What the page shows of a lease. */
export interface LeaseView {
  /** `namespace/name`. */
  readonly key: string
  /** Empty if nobody holds the lease. */
  readonly holder: string
  readonly standbys: readonly string[]
  /** When the record last changed, by the clock of this machine. */
  readonly renewedAt: number
  /** 0 if the lease states none. */
  readonly durationMs: number
  /** Whether a term is to end, as its holder or an operator says. */
  readonly isEnding: boolean
  readonly bands: readonly TermBand[]
  /** The last change, as a sentence. */
  readonly note: string
}

/** A renewal and nothing else. */
type Renewal = Pick<LeaseView, 'key' | 'renewedAt'>

/** What is new: whole leases, renewals, and leases that do not exist any more. */
export interface BoardNews {
  readonly leases: readonly LeaseView[]
  readonly renewals: readonly Renewal[]
}

/** How long news are collected before they are sent. */
const COLLECT_MS = 20

/** The leases as a page shows them: made of the same sightings and changes that `tenure watch` prints. */
export class LeaseBoard {
  readonly #terminal: Pick<Terminal, 'clock'>
  readonly #histories = new Map<string, LeaseHistory>()
  readonly #views = new Map<string, LeaseView>()
  readonly #listeners = new Set<(news: BoardNews) => void>()
  readonly #changed = new Set<string>()
  readonly #renewed = new Set<string>()
  #timer: Timer | undefined

  constructor(terminal: Pick<Terminal, 'clock'>) {
    this.#terminal = terminal
  }

  /** All leases, by their names. */
  get leases(): readonly LeaseView[] {
    return [...this.#views.keys()].toSorted().flatMap((key) => this.#views.get(key) ?? [])
  }

  /** Calls a listener with what is new, until the returned function is called. */
  subscribe(listener: (news: BoardNews) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Takes a sighting in. */
  take({ at: text, lease: key, object }: RecordedSighting): void {
    const at = Date.parse(text)
    const before = this.#histories.get(key)
    const { changes, history } = changesOf(before, { at, lease: leaseOf(object) })
    this.#histories.set(key, history)
    let bands = this.#views.get(key)?.bands ?? []
    for (const change of changes) bands = withChange(bands, change, { at, before })
    const last = changes.at(-1)
    const note = last === undefined ? (this.#views.get(key)?.note ?? '') : changeLine(last)
    const view = viewOf(key, history, { bands, note })
    const isNews = !isSame(this.#views.get(key), view)
    this.#views.set(key, view)
    this.#tell(key, isNews)
  }

  /** Ends the collection of news. */
  [Symbol.dispose](): void {
    this.#timer?.cancel()
    this.#listeners.clear()
  }

  #tell(key: string, isNews: boolean): void {
    if (isNews) this.#changed.add(key)
    else this.#renewed.add(key)
    this.#timer ??= this.#terminal.clock.setTimer(COLLECT_MS, () => this.#send())
  }

  #send(): void {
    this.#timer = undefined
    const leases = [...this.#changed].flatMap((key) => this.#views.get(key) ?? [])
    const renewals = [...this.#renewed].flatMap((key) => {
      const view = this.#changed.has(key) ? undefined : this.#views.get(key)
      return view === undefined ? [] : [{ key, renewedAt: view.renewedAt }]
    })
    this.#changed.clear()
    this.#renewed.clear()
    for (const listener of this.#listeners) listener({ leases, renewals })
  }
}

function viewOf(
  key: string,
  { last, changedAt }: LeaseHistory,
  { bands, note }: Pick<LeaseView, 'bands' | 'note'>,
): LeaseView {
  const record = last.lease?.record
  const isEnding = record !== undefined && (readOffer(record) !== undefined || readRequest(record) !== undefined)
  return {
    key,
    holder: record?.holderIdentity ?? '',
    standbys: record === undefined ? [] : readStandbys(record).map(({ identity }) => identity),
    renewedAt: changedAt,
    durationMs: (record?.leaseDurationSeconds ?? 0) * 1000,
    isEnding: isEnding && record.holderIdentity !== '',
    bands,
    note,
  }
}

/** Whether a view differs from another one by its renewal at most. */
function isSame(before: LeaseView | undefined, now: LeaseView): boolean {
  return (
    before !== undefined &&
    before.bands === now.bands &&
    before.holder === now.holder &&
    before.note === now.note &&
    before.durationMs === now.durationMs &&
    before.isEnding === now.isEnding &&
    before.standbys.join('\n') === now.standbys.join('\n')
  )
}
