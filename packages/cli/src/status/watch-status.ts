import { epochOf, type Timer } from '@tenure/core/internal'
import type { Cluster } from '../cluster/cluster.ts'
import { leaseKey, readLease, type StoredLease } from '../cluster/leases.ts'
import type { Terminal } from '../terminal.ts'
import { type LeaseFacts, readFacts } from './lease-facts.ts'
import { type LeaseStatus, leaseStatus, type Observation } from './lease-status.ts'
import { followLeases } from './lease-stream.ts'
import type { StatusFlags } from './status-flags.ts'
import { statusTable } from './status-table.ts'

/** How often a terminal is drawn again, so that the validity runs down. */
const REDRAW_MS = 1000

/** To the top left, and clear what is below. */
const HOME = '\u001B[H\u001B[J'

/** What to watch, and how to show it. */
export interface WatchedStatus {
  readonly name: string | undefined
  readonly flags: StatusFlags
}

/**
 * Shows leases until the command is interrupted. A terminal shows the table again each second. Anything else gets one line for each
 * change of a holder, or one JSON object.
 */
export async function watchStatus(cluster: Cluster, { name, flags }: WatchedStatus, terminal: Terminal): Promise<void> {
  if (name !== undefined) await readLease(cluster, name)
  const namespace = flags.allNamespaces === true ? '' : cluster.namespace
  const facts = await readFacts(cluster, namespace, terminal.clock.wallTime())
  const board = new StatusBoard({ facts, flags, terminal })
  const stop = board.start()
  try {
    await followLeases(
      { cluster, namespace, name, onLease: (lease) => board.show(lease), onDeleted: (key) => board.drop(key) },
      terminal,
    )
  } finally {
    stop()
  }
}

interface BoardOptions {
  readonly facts: LeaseFacts
  readonly flags: StatusFlags
  readonly terminal: Terminal
}

/** The leases as they were seen last. */
class StatusBoard {
  readonly #options: BoardOptions
  readonly #leases = new Map<string, { readonly stored: StoredLease; readonly observation: Observation | undefined }>()
  #isFirst = true

  constructor(options: BoardOptions) {
    this.#options = options
  }

  /** Draws a terminal again and again. The returned function ends that. */
  start(): () => void {
    const { terminal } = this.#options
    if (!this.#isDrawn) return () => {}
    let timer: Timer | undefined
    const draw = (): void => {
      if (this.#leases.size > 0) terminal.out(HOME + this.#table(this.#rows(), false))
      timer = terminal.clock.setTimer(REDRAW_MS, draw)
    }
    draw()
    return () => timer?.cancel()
  }

  show(stored: StoredLease): void {
    const key = leaseKey(stored.namespace, stored.name)
    const before = this.#leases.get(key)
    this.#leases.set(key, { stored, observation: this.#observed(stored, before) })
    const isNews = before?.stored.lease.record.holderIdentity !== stored.lease.record.holderIdentity
    if (!this.#isDrawn && isNews) this.#print(this.#row(key))
  }

  drop(key: string): void {
    const row = this.#row(key)
    this.#leases.delete(key)
    if (!this.#isDrawn && row !== undefined) this.#print({ ...row, holder: '', problems: ['was deleted'] })
  }

  get #isDrawn(): boolean {
    const { terminal, flags } = this.#options
    return terminal.columns !== undefined && flags.output !== 'json'
  }

  /** The epoch is known from the change of the holder on. A first view shows no change. */
  #observed(
    { lease }: StoredLease,
    before: { readonly stored: StoredLease; readonly observation: Observation | undefined } | undefined,
  ): Observation | undefined {
    if (before === undefined) return undefined
    const { holderIdentity, acquireTime, renewTime } = before.stored.lease.record
    const isSameTerm = holderIdentity === lease.record.holderIdentity && acquireTime === lease.record.acquireTime
    if (isSameTerm && renewTime === lease.record.renewTime) return before.observation
    const epoch = isSameTerm ? before.observation?.epoch : String(epochOf(lease))
    return { changedAt: this.#options.terminal.clock.now(), epoch }
  }

  #row(key: string): LeaseStatus | undefined {
    const seen = this.#leases.get(key)
    if (seen === undefined) return undefined
    const { clock } = this.#options.terminal
    const { facts } = this.#options
    return leaseStatus(seen.stored, {
      facts,
      now: clock.now(),
      wallTime: clock.wallTime(),
      observation: seen.observation,
    })
  }

  #rows(): readonly LeaseStatus[] {
    return [...this.#leases.keys()].toSorted().flatMap((key) => this.#row(key) ?? [])
  }

  #print(row: LeaseStatus | undefined): void {
    if (row === undefined) return
    const { terminal, flags } = this.#options
    if (flags.output === 'json') terminal.out(`${JSON.stringify(row)}\n`)
    else terminal.out(this.#table([row], !this.#isFirst))
    this.#isFirst = false
  }

  #table(rows: readonly LeaseStatus[], isContinued: boolean): string {
    const { flags, terminal } = this.#options
    const style = {
      isWide: flags.output === 'wide',
      withNamespaces: flags.allNamespaces === true,
      columns: terminal.columns,
    }
    const text = statusTable(rows, style)
    return isContinued ? text.slice(text.indexOf('\n') + 1) : text
  }
}
