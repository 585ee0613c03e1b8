import type { LeaseRecord } from '../../packages/core/src/lock/lease-record.ts'

/** The identity of the elector under test. */
export const ME = 'me'

/** A change by other clients: a record, an edited annotation, or a deletion. */
export type Change =
  | { readonly kind: 'put'; readonly record: StoredRecord; readonly deleting: boolean }
  | { readonly kind: 'touch' }
  | { readonly kind: 'delete' }

/** A record with the fields of coordinated election, which other electors ignore. */
interface StoredRecord extends Omit<LeaseRecord, 'annotations'> {
  readonly strategy: string | undefined
}

/** A step: a time at which an elector reads the lease. */
export interface HistoryStep {
  /** The time on its clock, in milliseconds. */
  readonly at: number
  /** The change by others before its read. */
  readonly put: Change | undefined
  /** The change by others between its read and its write. */
  readonly race: Change | undefined
  /** Whether the answer to its first write is lost, before or after the write took effect. */
  readonly lost: 'before' | 'after' | undefined
}

/** The decision of an elector at a step. */
export interface Decision {
  /** Its write that took effect. */
  readonly wrote: '' | 'create' | 'update'
  /** Whether it considers itself the leader afterwards. */
  readonly leads: boolean
}

const START = Date.UTC(2026, 0, 1, 12)

/** Random steps of a poll loop, with random changes by other clients. */
export function randomHistory(random: () => number): readonly HistoryStep[] {
  const steps: HistoryStep[] = []
  const others = new Others(random)
  let at = 0
  const length = 2 + Math.floor(random() * 10)
  for (let index = 0; index < length; index++) {
    at += pick(
      random,
      [
        2000, 2000, 2000, 2000, 2000, 2400, 2400, 2400, 3100, 3100, 5000, 5000, 9999, 10_000, 14_999, 15_000, 15_001,
        21_000,
      ],
    )
    const dice = random()
    steps.push({
      at,
      put: index === 0 || random() < 0.4 ? others.change(at) : undefined,
      race: dice < 0.05 ? others.change(at) : undefined,
      lost: dice > 0.95 ? pick(random, ['before', 'after']) : undefined,
    })
  }
  return steps
}

/** The other clients of the lease. Their wall clock differs a little from the clock of the elector. */
class Others {
  readonly #random: () => number
  #last: StoredRecord | undefined

  constructor(random: () => number) {
    this.#random = random
  }

  change(at: number): Change {
    const random = this.#random
    const dice = random()
    if (dice < 0.04) return this.#delete()
    if (dice < 0.2) return { kind: 'touch' }
    const record = dice < 0.75 && this.#last !== undefined ? this.#prolonged(this.#last, at) : this.#taken(at)
    this.#last = record
    return { kind: 'put', record, deleting: random() < 0.03 }
  }

  #delete(): Change {
    this.#last = undefined
    return { kind: 'delete' }
  }

  #taken(at: number): StoredRecord {
    const random = this.#random
    const time = this.#time(at)
    return {
      holderIdentity: pick(random, [
        'other',
        'other',
        'other',
        'other',
        'other',
        'other',
        'third',
        'third',
        '',
        '',
        '',
        ME,
      ]),
      leaseDurationSeconds: pick(random, [15, 15, 15, 15, 15, 15, 15, 5, 5, 5, 1, 60, 0, undefined]),
      acquireTime: random() < 0.03 ? undefined : time,
      renewTime: random() < 0.03 ? undefined : time,
      leaseTransitions: random() < 0.03 ? undefined : Math.floor(random() * 5),
      strategy: random() < 0.05 ? 'OldestEmulationVersion' : undefined,
    }
  }

  #prolonged(last: StoredRecord, at: number): StoredRecord {
    const random = this.#random
    const dice = random()
    if (dice < 0.6) return { ...last, renewTime: this.#time(at) }
    if (dice < 0.75 && last.renewTime !== undefined) return { ...last, renewTime: aLittleLater(last.renewTime) }
    if (dice < 0.85) return { ...last, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#time(at) }
    if (dice < 0.9) return { ...last, leaseTransitions: (last.leaseTransitions ?? 0) + 1 }
    if (dice < 0.95) return { ...last, leaseDurationSeconds: pick(random, [15, 5, 30]) }
    return { ...last, strategy: last.strategy === undefined ? 'OldestEmulationVersion' : undefined }
  }

  #time(at: number): string {
    const time = START + at - Math.floor(this.#random() * 1500)
    return new Date(time).toISOString().replace('Z', '000Z')
  }
}

/** A renewal within the same whole second, or nearly so. */
function aLittleLater(time: string): string {
  return time.replace(/\.\d{6}Z$/, (fraction) => (fraction === '.999999Z' ? '.999998Z' : '.999999Z'))
}

function pick<T>(random: () => number, values: readonly [T, ...T[]]): T {
  return values[Math.floor(random() * values.length)] ?? values[0]
}

/** The history in the format of the program that runs client-go. */
export function toJson(steps: readonly HistoryStep[]): string {
  return JSON.stringify(
    steps.map(({ at, put, race, lost }) => ({ at, put: changeToJson(put), race: changeToJson(race), lost })),
  )
}

function changeToJson(change: Change | undefined): unknown {
  if (change === undefined) return undefined
  switch (change.kind) {
    case 'put':
      return { spec: change.record, deleting: change.deleting }
    case 'touch':
      return { touch: true }
    case 'delete':
      return {}
    default:
      return change satisfies never
  }
}
