import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import type { ElectorEvent, ReadResult, WriteResult } from '../../src/election/machine/event.ts'
import type { ElectorState, StateOf } from '../../src/election/machine/state.ts'
import { INITIAL_STATE, nextWakeAt, transition } from '../../src/election/machine/transition.ts'
import { readOffer, withAnswer } from '../../src/election/rules/transfer-notes.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { LockRequestError, type LockFailure } from '../../src/lock/lock-request-error.ts'
import type { LockSnapshot, PresentLease } from '../../src/lock/lock.ts'

/** The identity of the elector under test. */
export const ME = 'me'

/** Default timing, no spread, release on. It does not join the list of standbys. */
export const CONFIG: ElectorConfig = {
  identity: ME,
  timing: resolveTimingOptions(),
  releaseOnExit: true,
  missingLease: 'create',
  announceAfterMs: Infinity,
}

type EffectOf<K extends ElectorEffect['kind']> = Extract<ElectorEffect, { kind: K }>

/**
 * The pure machine with a hand-moved clock: remembers the state and every effect, carries nothing out.
 */
export class PureElector {
  state: ElectorState = INITIAL_STATE
  now = 0
  /** Follows `now`; set it to step the wall clock. */
  wallOffset = Date.UTC(2026, 0, 1, 12)
  random = 0
  config: ElectorConfig
  readonly effects: ElectorEffect[] = []
  /** Called with every effect at the moment at which it is wanted. */
  onEffect: (effect: ElectorEffect) => void = () => {}

  constructor(config: Partial<ElectorConfig> = {}) {
    this.config = { ...CONFIG, ...config }
  }

  /** Handles one event now and returns its effects. */
  send(event: ElectorEvent): readonly ElectorEffect[] {
    const at = { now: this.now, wallTime: this.wallOffset + this.now, random: this.random }
    const { state, effects } = transition(this.state, event, { at, config: this.config })
    this.state = state
    this.effects.push(...effects)
    for (const effect of effects) this.onEffect(effect)
    return effects
  }

  /** Lets time pass to `now`, waking the machine whenever it asked for that; returns the effects. */
  passTo(now: number): readonly ElectorEffect[] {
    const effects: ElectorEffect[] = []
    for (
      let wakes = 0, at = nextWakeAt(this.state, this.config);
      at !== undefined && at <= now;
      at = nextWakeAt(this.state, this.config)
    ) {
      if (wakes++ > 1000) throw new Error(`The machine wants to be woken at ${at} again and again`)
      this.now = Math.max(this.now, at)
      effects.push(...this.send({ kind: 'wake' }))
    }
    this.now = now
    return effects
  }

  /** Lets time pass to `now` without a wake, as when the event loop is blocked. */
  stallTo(now: number): void {
    this.now = now
  }

  observe(snapshot: LockSnapshot): readonly ElectorEffect[] {
    return this.send({ kind: 'observed', snapshot })
  }

  /** Starts, with the watch up and the given lease seen. */
  follow(snapshot: LockSnapshot): readonly ElectorEffect[] {
    return [...this.send({ kind: 'start' }), ...this.observe(snapshot), ...this.send({ kind: 'watch-up' })]
  }

  /** Acknowledges the last write as version `version`. */
  acknowledge(version: bigint): readonly ElectorEffect[] {
    const { request } = this.lastWrite
    return this.answerWrite({ kind: 'written', lease: this.stored(version) }, request)
  }

  answerWrite(result: WriteResult, request: number = this.lastWrite.request): readonly ElectorEffect[] {
    return this.send({ kind: 'write-answer', request, result })
  }

  answerRead(snapshot: LockSnapshot): readonly ElectorEffect[] {
    return this.readResult({ kind: 'read', snapshot })
  }

  failRead(failure: LockFailure): readonly ElectorEffect[] {
    return this.readResult(failed(failure))
  }

  failWrite(failure: LockFailure): readonly ElectorEffect[] {
    return this.answerWrite(failed(failure))
  }

  /** The lease as the last write leaves it, at `version`. */
  stored(version: bigint): PresentLease {
    return { kind: 'present', version, record: this.lastWrite.write.record, deleting: false }
  }

  /** Stores the last write at `version`. The replica that it offers the lease to answers with the version after it. */
  takeOffer(version: bigint): readonly ElectorEffect[] {
    const { record } = this.stored(version)
    const identity = readOffer(record)?.to
    if (identity === undefined) throw new Error('Expected the last write to offer the lease to a replica')
    const effects = this.acknowledge(version)
    const answered = withAnswer(record, { identity, nonce: 'n' })
    return [...effects, ...this.observe({ ...this.stored(version + 1n), record: answered })]
  }

  /** Follows, takes the free lease at `version`, and leads. */
  lead(version = 2n): this {
    this.follow(lease({ version: version - 1n, holderIdentity: '', leaseDurationSeconds: 1 }))
    this.acknowledge(version)
    this.as('leading')
    return this
  }

  /** The present state, which has to be of the given kind. */
  as<K extends ElectorState['kind']>(kind: K): StateOf<K> {
    if (this.state.kind !== kind) throw new Error(`Expected the elector to be ${kind}, but it is ${this.state.kind}`)
    return this.state as StateOf<K>
  }

  /** Every effect of the given kind so far, oldest first. */
  all<K extends ElectorEffect['kind']>(kind: K): readonly EffectOf<K>[] {
    return this.effects.filter((effect): effect is EffectOf<K> => effect.kind === kind)
  }

  get lastWrite(): EffectOf<'write'> {
    const write = this.all('write').at(-1)
    if (write === undefined) throw new Error('Nothing was written')
    return write
  }

  readResult(result: ReadResult): readonly ElectorEffect[] {
    const read = this.all('read').at(-1)
    if (read === undefined) throw new Error('Nothing was read')
    return this.send({ kind: 'read-answer', request: read.request, result })
  }
}

/** The kinds of the given effects, in order. */
export function kinds(effects: readonly ElectorEffect[]): readonly string[] {
  return effects.map((effect) => effect.kind)
}

/** The purposes of the writes among the given effects, in order. */
export function purposes(effects: readonly ElectorEffect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.kind === 'write' ? [effect.write.purpose] : []))
}

/** A failed request. */
export function failed(failure: LockFailure, retryAfterMs?: number): WriteResult & ReadResult {
  return { kind: 'failed', failure, retryAfterMs, error: new LockRequestError(failure, `scripted: ${failure}`) }
}

/** A stored lease; by default another replica's, acquired and renewed at one moment. */
export function lease(
  fields: { readonly version: bigint; readonly deleting?: boolean } & Partial<PresentLease['record']>,
) {
  const { version, deleting = false, ...record } = fields
  return {
    kind: 'present',
    version,
    deleting,
    record: {
      holderIdentity: 'other',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T11:00:00.000000Z',
      renewTime: record.acquireTime ?? '2026-01-01T11:00:00.000000Z',
      leaseTransitions: 3,
      annotations: {},
      ...record,
    },
  } as const satisfies PresentLease
}

/** The lease does not exist. */
export const ABSENT: LockSnapshot = { kind: 'absent' }
