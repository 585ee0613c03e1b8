import { resolveTimingOptions } from '../../packages/core/src/election/timing-options.ts'
import type { ElectorConfig } from '../../packages/core/src/election/machine/config.ts'
import type { ElectorEffect, LeaseWrite } from '../../packages/core/src/election/machine/effect.ts'
import type { ElectorEvent, RequestFailure, WriteResult } from '../../packages/core/src/election/machine/event.ts'
import type { ElectorState } from '../../packages/core/src/election/machine/state.ts'
import { isWrittenAs } from '../../packages/core/src/election/rules/records.ts'
import { INITIAL_STATE, transition } from '../../packages/core/src/election/machine/transition.ts'
import type { LeaseRecord } from '../../packages/core/src/lock/lease-record.ts'
import { LockRequestError, type LockFailure } from '../../packages/core/src/lock/lock-request-error.ts'
import type { LockSnapshot } from '../../packages/core/src/lock/lock.ts'
import { type Change, type Decision, type HistoryStep, ME } from './history.ts'

const CONFIG: ElectorConfig = {
  identity: ME,
  timing: resolveTimingOptions(),
  releaseOnExit: true,
  missingLease: 'create',
}

/** A decision and its circumstances. */
export interface Situation extends Decision {
  /** Whether the elector led before the step. */
  readonly led: boolean
  /** The lease that the step found. */
  readonly found: LockSnapshot
  /** The lease before the first write, or after the step if there was no write. */
  readonly raced: LockSnapshot
  /** The lease that the elector read last. */
  readonly seen: LockSnapshot
  /** Whether the elector holds the lease without acting yet. */
  readonly reserves: boolean
  /** Whether the elector wrote the lease that the step found. */
  readonly isOwn: boolean
}

/** The decisions of the machine of production at each step, until it loses a lease that it led. */
export function decide(steps: readonly HistoryStep[]): readonly Situation[] {
  const elector = new ScriptedElector()
  const situations: Situation[] = []
  for (const step of steps) {
    situations.push(elector.take(step))
    if (elector.hasEnded) break
  }
  return situations
}

/** The machine with a stored lease that others change by the history. Every request is answered immediately. */
class ScriptedElector {
  #state: ElectorState = INITIAL_STATE
  #stored: LockSnapshot = { kind: 'absent', version: 0n }
  #version = 0n
  #now = 0
  #race: Change | undefined
  #lost: HistoryStep['lost']
  #wrote: Decision['wrote'] = ''
  #raced: LockSnapshot = this.#stored
  #seen: LockSnapshot = this.#stored
  #written: LeaseRecord | undefined

  get hasEnded(): boolean {
    return this.#state.kind === 'aborting' || this.#state.kind === 'stopped'
  }

  take(step: HistoryStep): Situation {
    const led = this.#state.kind === 'leading'
    const own = this.#written
    this.#now = step.at
    this.#apply(step.put)
    this.#race = step.race
    this.#lost = step.lost
    this.#wrote = ''
    const found = this.#stored
    this.#raced = found
    this.#seen = found
    if (this.#state.kind === 'idle') this.#send({ kind: 'start' })
    this.#send({ kind: 'observed', snapshot: this.#stored })
    this.#send({ kind: 'wake' })
    const seen = this.#seen
    this.#apply(this.#race)
    if (this.#race !== undefined) this.#raced = this.#stored
    this.#race = undefined
    const raced = this.#raced
    const isOwn = found.kind === 'present' && own !== undefined && isWrittenAs(found.record, own)
    return {
      wrote: this.#wrote,
      leads: this.#state.kind === 'leading',
      led,
      found,
      raced,
      seen,
      reserves: this.#state.kind === 'reserving',
      isOwn,
    }
  }

  #send(event: ElectorEvent): void {
    const at = { now: this.#now, wallTime: Date.UTC(2026, 0, 1, 12) + this.#now, random: 0 }
    const { state, effects } = transition(this.#state, event, { at, config: CONFIG })
    this.#state = state
    for (const effect of effects) this.#carryOut(effect)
  }

  #carryOut(effect: ElectorEffect): void {
    if (effect.kind === 'read') {
      this.#seen = this.#stored
      const result = { kind: 'read', snapshot: this.#stored } as const
      this.#send({ kind: 'read-answer', request: effect.request, result })
    } else if (effect.kind === 'write') {
      const result = this.#write(effect.write)
      this.#send({ kind: 'write-answer', request: effect.request, result })
    }
  }

  #write({ purpose, base, record }: LeaseWrite): WriteResult {
    if (purpose === 'announce') return this.#annotate(record)
    this.#apply(this.#race)
    if (this.#race !== undefined) this.#raced = this.#stored
    const lost = this.#lost
    this.#race = undefined
    this.#lost = undefined
    if (lost === 'before') return failed('unknown-outcome')
    if (base === undefined ? this.#stored.kind === 'present' : this.#stored.kind === 'absent') {
      return failed(base === undefined ? 'conflict' : 'not-found')
    }
    if (base !== undefined && base.version !== this.#stored.version) return failed('conflict')
    this.#version += 1n
    const lease = { kind: 'present', version: this.#version, record, deleting: false } as const
    this.#stored = lease
    this.#written = record
    this.#wrote = base === undefined ? 'create' : 'update'
    return lost === 'after' ? failed('unknown-outcome') : { kind: 'written', lease }
  }

  /** A follower joins the standbys. That changes an annotation of Tenure and no field that electors compare, so it is no decision. */
  #annotate(record: LeaseRecord): WriteResult {
    this.#version += 1n
    const lease = { kind: 'present', version: this.#version, record, deleting: false } as const
    this.#stored = lease
    return { kind: 'written', lease }
  }

  #apply(change: Change | undefined): void {
    const stored = this.#stored
    if (change === undefined || (change.kind !== 'put' && stored.kind === 'absent')) return
    this.#version += 1n
    const version = this.#version
    if (change.kind === 'delete') this.#stored = { kind: 'absent', version }
    else if (change.kind === 'touch' && stored.kind === 'present') this.#stored = { ...stored, version }
    else if (change.kind === 'put') {
      const { strategy: _, ...fields } = change.record
      this.#stored = { kind: 'present', version, record: { ...fields, annotations: {} }, deleting: change.deleting }
    }
  }
}

function failed(failure: LockFailure): RequestFailure {
  return { kind: 'failed', failure, error: new LockRequestError(failure, `scripted: ${failure}`) }
}
