import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { nextWakeAt } from '../../src/election/machine/transition.ts'
import { isJoining } from '../../src/election/phases/announcing.ts'
import { withStandbys } from '../../src/election/rules/standby.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import { failed, lease, PureElector } from './pure-elector.ts'

/** Followers that start at the same time, and how long the API server takes. */
export interface CrowdOptions {
  readonly followers: number
  readonly random: () => number
  /** From sending a write until everybody knows of it, in milliseconds. */
  readonly latencyMs: () => number
  readonly revision?: string
  /** The lease that they find. @default one whose holder has no standbys */
  readonly found?: PresentLease
}

type EffectOf<K extends ElectorEffect['kind']> = Extract<ElectorEffect, { kind: K }>

/** Before the lease of the silent leader expires. */
const MAX_MS = 10_000

/** How a crowd filled the list of standbys. */
export interface CrowdResult {
  /** The announcing writes that were sent, conflicts included. */
  readonly writes: number
  /** When each follower was on the list, or did not try to join it any more: in the order of time. */
  readonly doneAt: readonly number[]
}

/** A lease whose holder keeps a list without standbys. */
export function unlisted(): PresentLease {
  const { record } = lease({ version: 1n })
  return { kind: 'present', version: 1n, record: withStandbys(record, []), deleting: false }
}

/** The purely computed start of followers under a leader that does nothing else in that time. */
export class Crowd {
  stored: PresentLease
  now = 0
  writes = 0
  readonly #electors: readonly PureElector[]
  readonly #latencyMs: () => number
  readonly #doneAt = new Map<PureElector, number>()
  readonly #wakes = new WeakMap<ElectorState, number>()
  #coming: readonly { readonly at: number; readonly run: () => void }[] = []

  constructor({ followers, random, latencyMs, revision, found = unlisted() }: CrowdOptions) {
    this.stored = found
    this.#latencyMs = latencyMs
    this.#electors = Array.from({ length: followers }, (_, index) => {
      const elector = new PureElector({ identity: `pod-${index}`, revision, announceAfterMs: undefined })
      elector.random = random()
      elector.onEffect = (effect) => {
        if (effect.kind === 'write') this.#write(elector, effect)
      }
      return elector
    })
  }

  /** Lets the followers start, and nothing else happen until the list is as it should be. */
  run(): CrowdResult {
    for (const elector of this.#electors) elector.follow(this.stored)
    for (let next = this.#nextAt; next <= MAX_MS; next = this.#nextAt) {
      this.now = next
      for (const elector of this.#electors) {
        elector.now = next
        if (this.#wakeOf(elector) <= next) elector.send({ kind: 'wake' })
      }
      const due = this.#coming.filter(({ at }) => at <= next)
      this.#coming = this.#coming.filter(({ at }) => at > next)
      for (const { run } of due) run()
      this.#noteDone()
    }
    return { writes: this.writes, doneAt: [...this.#doneAt.values()] }
  }

  /** When the next thing happens. The leases of this time do not expire. */
  get #nextAt(): number {
    const wakes = this.#electors.map((elector) => this.#wakeOf(elector))
    return Math.min(...wakes, ...this.#coming.map(({ at }) => at))
  }

  /** Computed once for each state. */
  #wakeOf({ state, config }: PureElector): number {
    const known = this.#wakes.get(state)
    if (known !== undefined) return known
    const wake = nextWakeAt(state, config) ?? Infinity
    this.#wakes.set(state, wake)
    return wake
  }

  #write(elector: PureElector, { request, write }: EffectOf<'write'>): void {
    this.writes += 1
    const oneWayMs = this.#latencyMs() / 2
    this.#after(oneWayMs, () => {
      if (write.base?.version !== this.stored.version) {
        this.#after(oneWayMs, () => elector.answerWrite(failed('conflict'), request))
        return
      }
      const lease = { ...this.stored, version: this.stored.version + 1n, record: write.record }
      this.stored = lease
      this.#after(oneWayMs, () => {
        elector.answerWrite({ kind: 'written', lease }, request)
        for (const other of this.#electors) other.observe(lease)
      })
    })
  }

  #after(ms: number, run: () => void): void {
    this.#coming = [...this.#coming, { at: this.now + ms, run }]
  }

  #noteDone(): void {
    for (const elector of this.#electors) {
      if (!this.#doneAt.has(elector) && !isJoining(elector.as('following'))) this.#doneAt.set(elector, this.now)
    }
  }
}
