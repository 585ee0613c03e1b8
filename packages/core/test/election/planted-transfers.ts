import type { TransitionContext } from '../../src/election/machine/config.ts'
import { inheritanceOf } from '../../src/election/phases/inheriting.ts'
import type { ElectorState, SentAnswer } from '../../src/election/machine/state.ts'
import { readAnswer, readTransferNonce } from '../../src/election/rules/transfer-notes.ts'
import { transition } from '../../src/election/machine/transition.ts'
import type { FleetMachine } from './fleet.ts'

/*
 * Machines that break one rule of transfers or of proofs of death each. A fleet of them has to be caught.
 */

/** The machine, told before every event of answers that it may not know. */
const knowing =
  (
    answers: (state: ElectorState, identity: string, context: TransitionContext) => readonly SentAnswer[],
  ): FleetMachine =>
  (replica, state, event, context) => {
    const known = (before: ElectorState): ElectorState => {
      const sent = answers(before, replica.identity, context)
      if (before.kind !== 'following' || sent.length === 0) return before
      const { observation, memory } = before
      if (observation.kind !== 'present') return before
      const { holderIdentity: identity, acquireTime } = observation.lease.record
      const candidate = { term: { identity, acquireTime }, stands: false, ...memory.candidate, sent }
      return { ...before, memory: { ...memory, candidate } }
    }
    const step = transition(state, event, context)
    const after = known(step.state)
    if (after === step.state || after.kind !== 'following') return step
    if (inheritanceOf(after, context.at, context.config) === undefined) return step
    const acted = transition(after, { kind: 'wake' }, context)
    return { state: acted.state, effects: [...step.effects, ...acted.effects] }
  }

/** The nonce of the transfer that a follower sees to itself. */
function nonceSeen(state: ElectorState, identity: string): string | undefined {
  if (state.kind !== 'following' || state.observation.kind !== 'present') return undefined
  const { record } = state.observation.lease
  return record.holderIdentity === identity ? readTransferNonce(record) : undefined
}

/** Acts on a transfer that names it, whatever the nonce, for as long as a transfer is good for from when it sees it. */
export const actsWithoutNonce: FleetMachine = knowing((state, identity, { at }) => {
  const nonce = nonceSeen(state, identity)
  return nonce === undefined ? [] : [{ nonce, sentAt: at.now }]
})

/** Lets a nonce serve again and again. */
export function createReusingNonces(): FleetMachine {
  const used = new Map<string, SentAnswer[]>()
  const machine = knowing((_state, identity) => used.get(identity) ?? [])
  return (replica, state, event, context) => {
    const step = machine(replica, state, event, context)
    const sent = step.state.memory.candidate?.sent ?? []
    if (sent.length > 0) used.set(replica.identity, [...(used.get(replica.identity) ?? []), ...sent].slice(-8))
    return step
  }
}

/** Knows its nonces, but counts from when it sees the transfer. */
export const countsFromTheEvent: FleetMachine = (replica, state, event, context) => {
  const { candidate } = state.memory
  if (candidate === undefined || state.kind !== 'following') return transition(state, event, context)
  const sent = candidate.sent.map(({ nonce }) => ({ nonce, sentAt: context.at.now }))
  const step = transition({ ...state, memory: { ...state.memory, candidate: { ...candidate, sent } } }, event, context)
  return step
}

/** Takes a release or transfer of unknown outcome for failed when the lease is still its own, and starts the tasks again. */
export const startsAgain: FleetMachine = (replica, state, event, context) => {
  const step = transition(state, event, context)
  if (state.kind !== 'releasing' || event.kind !== 'read-answer' || step.state.kind !== 'releasing') return step
  const { memory, hold, epoch } = step.state
  if (hold.outstanding.length === 0 || epoch === undefined || replica.identity === '') return step
  replica.hasTasks = true
  return { state: { kind: 'leading', memory, hold, epoch }, effects: [] }
}

/** Hands out the version of the answer as the epoch. */
export const countsEpochsByAnswers: FleetMachine = (_replica, state, event, context) => {
  const step = transition(state, event, context)
  if (state.kind !== 'following' || state.observation.kind !== 'present') return step
  const { version, record } = state.observation.lease
  if (readAnswer(record)?.identity !== context.config.identity) return step
  const effects = step.effects.map((effect) => (effect.kind === 'begin-term' ? { ...effect, epoch: version } : effect))
  return { state: step.state, effects }
}

/** Takes the death of a process for the death of the process that has its name now. */
export const trustsNames: FleetMachine = (_replica, state, event, context) => {
  if (event.kind !== 'holder-dead' || state.kind !== 'following' || state.observation.kind !== 'present') {
    return transition(state, event, context)
  }
  const { acquireTime } = state.observation.lease.record
  return transition(state, { ...event, holder: { ...event.holder, acquireTime } }, context)
}
