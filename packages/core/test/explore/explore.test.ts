import { describe, expect, test } from 'vitest'
import { transition } from '../../src/election/machine/transition.ts'
import { lastView } from '../../src/election/rules/observation.ts'
import { readRequest } from '../../src/election/rules/step-down-request.ts'
import { withProcessRef } from '../../src/election/rules/transfer-notes.ts'
import { withLeastEpoch } from '../../src/lock/lease-record.ts'
import { coverageOf } from './cells.ts'
import { explore, type ExploreOptions } from './explore.ts'
import type { Machine } from './handle.ts'
import { CUT_OFF, FOR_LIFE, SCOPES } from './scopes.ts'
import { type Scope, TIMING } from './world.ts'

const SCOPE: Scope = {
  replicas: 2,
  faults: 1,
  orders: 1,
  rates: [],
  canProveDeath: false,
  config: { timing: TIMING, releaseOnExit: true, missingLease: 'create' },
}

/** An edit of the lease and one more fault. */
const SHORTENED = { faults: 2, orders: 0, canShorten: true } as const

/** A coordinator names any replica at any time. */
const COORDINATED: Scope = { ...SCOPE, faults: 0, orders: 2, isCoordinated: true }

/** The coordinator names a follower while the leader is cut off. The follower must not act yet. */
const FOLLOWER_NAMED: Scope = {
  ...SCOPE,
  ...CUT_OFF,
  canProveDeath: true,
  opening: [...CUT_OFF.opening, 'the coordinator names r1.1', 'acquire of r1.1 takes effect and is answered'],
}

/** The coordinator names the leader, which is cut off and does not hear of it. */
const LEADER_NAMED: Scope = {
  ...SCOPE,
  ...CUT_OFF,
  opening: [...CUT_OFF.opening, 'the coordinator names r0.1', 'time passes'],
}

/** An operator requests step-downs through the lease. */
const REQUESTED: Scope = { ...SCOPE, canRequest: true }

/** Replicas hear that they are about to be stopped. */
const DEPARTING: Scope = { ...SCOPE, faults: 0, canDepart: true }

/** Leaders lead for life. */
const FOR_LIFE_LEASE: Scope = { ...SCOPE, config: FOR_LIFE }

/** The store goes back while every replica knows the term in force. */
const RESTORED = { ...SCOPE, canRestore: 'known' } as const

/** Treats every lease as expired after a second. */
const impatient: Machine = (state, event, context) => {
  if (event.kind !== 'observed' || event.snapshot.kind === 'absent') return transition(state, event, context)
  const { snapshot } = event
  const isOwn = snapshot.record.holderIdentity === context.config.identity
  const record = isOwn ? snapshot.record : { ...snapshot.record, leaseDurationSeconds: 1 }
  return transition(state, { ...event, snapshot: { ...snapshot, record } }, context)
}

/** Obeys every edit of a record, like a write of the holder. */
const obedient: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (step.state.kind !== 'following' || step.state.observation.kind !== 'present') return step
  return { ...step, state: { ...step.state, observation: { ...step.state.observation, guardedUntil: 0 } } }
}

/** Acts as soon as it holds the lease, although the holder of before may act as well. */
const rash: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (step.state.kind !== 'reserving') return step
  const acting = transition({ ...step.state, actAt: context.at.now }, { kind: 'wake' }, context)
  return { state: acting.state, effects: [...step.effects, ...acting.effects] }
}

/** Takes a lease that its holder keeps for life when it looks expired, because nobody renews it, and acts at once. */
const mortal: Machine = (state, event, { at, config }) =>
  transition(state, event, { at, config: { ...config, heldForLife: 'hold' in state } })

/** Believes that the lease is its own as soon as it is named in it. */
const believing: Machine = (state, event, context) => {
  const { identity } = context.config
  if (state.kind !== 'following' || event.kind !== 'observed' || event.snapshot.kind === 'absent')
    return transition(state, event, context)
  const { record } = event.snapshot
  if (record.holderIdentity !== identity) return transition(state, event, context)
  const write = { purpose: 'acquire', record, request: 0, sentAt: context.at.now } as const
  return transition({ ...state, outstanding: [write] }, event, context)
}

/** Names its process in every record, also while the holder of before may act. */
const outspoken: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  const { processRef } = context.config
  const effects = step.effects.map((effect) =>
    effect.kind === 'write' && effect.write.record.holderIdentity === context.config.identity
      ? { ...effect, write: { ...effect.write, record: withProcessRef(effect.write.record, processRef) } }
      : effect,
  )
  return { ...step, effects }
}

/** Trusts a restored store, although a leader may be missing from it. */
const trusting: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (step.state.kind !== 'following' || step.state.observation.kind !== 'present') return step
  const { lease } = step.state.observation
  const guardedUntil = lease.record.holderIdentity === '' ? 0 : step.state.observation.guardedUntil
  return { ...step, state: { ...step.state, observation: { ...step.state.observation, guardedUntil } } }
}

/** Treats every older version as the report of a delayed watch or cache. */
const steadfast: Machine = (state, event, context) => {
  if (event.kind !== 'read-answer' || event.result.kind !== 'read') return transition(state, event, context)
  const last = state.kind === 'following' ? lastView(state.observation) : undefined
  const known = last?.kind === 'present' ? last.lease : undefined
  const isOlder = known !== undefined && (event.result.snapshot.version ?? 0n) < known.version
  const snapshot = isOlder ? known : event.result.snapshot
  return transition(state, { ...event, result: { kind: 'read', snapshot } }, context)
}

/** Uses the version of the store as the epoch, knows no other, and writes no least epoch. */
const counting: Machine = (state, event, context) => {
  const memory = { ...state.memory, highestEpoch: 0n }
  const { state: next, effects } = transition({ ...state, memory }, event, context)
  const counted = effects.map((effect) => {
    if (effect.kind === 'begin-term' && 'hold' in next) return { ...effect, epoch: next.hold.lease.version }
    if (effect.kind !== 'write') return effect
    return { ...effect, write: { ...effect.write, record: withLeastEpoch(effect.write.record, 0n) } }
  })
  return { state: next, effects: counted }
}

/** Treats a term as empty as soon as it begins to end. */
const hasty: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (event.kind !== 'step-down' || step.state.kind !== 'draining') return step
  const drained = transition(step.state, { kind: 'drained' }, context)
  return { state: drained.state, effects: [...step.effects, ...drained.effects] }
}

/** Treats a term as empty as soon as the lease requests its end. */
const obliging: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (event.kind !== 'observed' || state.kind !== 'leading' || step.state.kind !== 'draining') return step
  const drained = transition(step.state, { kind: 'drained' }, context)
  return { state: drained.state, effects: [...step.effects, ...drained.effects] }
}

/** Ends its term for a named replica before that answers. */
const credulous: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (step.state.kind !== 'leading') return step
  const { to } = readRequest(step.state.hold.lease.record) ?? {}
  if (to === undefined) return step
  const ended = transition(step.state, { kind: 'step-down', reason: 'transferred', cooldownMs: 0, to }, context)
  return { state: ended.state, effects: [...step.effects, ...ended.effects] }
}

/** Is done with its work as soon as it hands over because its place is deleted. */
const hurried: Machine = (state, event, context) => {
  const step = transition(state, event, context)
  if (context.config.departure !== 'stopping' || state.kind !== 'leading' || step.state.kind !== 'draining') return step
  const drained = transition(step.state, { kind: 'drained' }, context)
  return { state: drained.state, effects: [...step.effects, ...drained.effects] }
}

/** Gives every term the same epoch. */
const forgetful: Machine = (state, event, context) => {
  const { state: next, effects } = transition(state, event, context)
  return { state: next, effects: effects.map((effect) => ('epoch' in effect ? { ...effect, epoch: 1n } : effect)) }
}

/** Ignores wake-ups while it follows. */
const deaf: Machine = (state, event, context) =>
  state.kind === 'following' && event.kind === 'wake' ? { state, effects: [] } : transition(state, event, context)

describe('An exploration of a machine with a planted defect tells the shortest history that shows it:', () => {
  test.each<readonly [string, Partial<ExploreOptions>, string]>([
    ['a follower that is impatient', { machine: impatient }, 'S1'],
    ['a clock that is slower than the tolerance', { scope: { ...SCOPE, orders: 0, rates: [0.6] } }, 'S1'],
    ['a follower that obeys every edit', { machine: obedient, scope: { ...SCOPE, ...SHORTENED } }, 'S1'],
    ['a named replica that does not wait', { machine: rash, scope: COORDINATED }, 'S1'],
    ['a named replica that does not acquire', { machine: believing, scope: COORDINATED }, 'N1'],
    ['a named replica that proves its own death', { machine: outspoken, scope: FOLLOWER_NAMED }, 'S1'],
    ['a lease that is freed too early', { scope: { ...LEADER_NAMED, freesEarly: true } }, 'S1'],
    ['a follower that trusts a backup', { machine: trusting, scope: RESTORED }, 'S1'],
    ['a follower that drops older versions for good', { machine: steadfast, scope: RESTORED, recoveryShare: 1 }, 'L1'],
    ['an epoch that the store alone counts', { machine: counting, scope: RESTORED, states: 400_000 }, 'S6'],
    ['a leader for life that does not wait after a deletion', { machine: rash, scope: FOR_LIFE_LEASE }, 'S1'],
    ['a lease for life that expires', { machine: mortal, scope: { ...FOR_LIFE_LEASE, orders: 0 } }, 'S1'],
    ['a release before the tasks have ended', { machine: hasty }, 'S3'],
    ['a release as soon as one is requested', { machine: obliging, scope: REQUESTED }, 'S3'],
    ['a term that ends for a replica that does not answer', { machine: credulous, scope: REQUESTED }, 'N2'],
    ['a release as soon as a place is deleted', { machine: hurried, scope: DEPARTING }, 'S3'],
    ['an epoch that is used twice', { machine: forgetful }, 'S6'],
    ['a follower that does not wake up', { machine: deaf, recoveryShare: 1 }, 'L'],
  ])('%s', (_name, options, rule) => {
    const { findings } = explore({ scope: SCOPE, states: 200_000, ...options })
    expect(findings.map((finding) => finding.rule.slice(0, rule.length))).toEqual([rule])
    expect(findings[0]?.history.length).toBeGreaterThanOrEqual(2)
    expect(findings[0]?.history.at(0)).toMatch(/^ +\d+ ms {2}r\d\.1 starts$/)
  })
})

test('One fault and no order is explored to the end, and breaks no rule', () => {
  const exploration = explore({ scope: { ...SCOPE, orders: 0 }, states: 300_000, recoveryShare: 256 })
  expect(exploration.findings).toEqual([])
  expect(exploration.isExhausted).toBe(true)
  expect(exploration.states).toBeGreaterThan(5000)
})

test('A lease that is shortened under a leader who is cut off breaks no rule', () => {
  expect(explore({ scope: { ...SCOPE, ...SHORTENED }, states: 20_000 }).findings).toEqual([])
  expect(explore({ scope: { ...SCOPE, ...SHORTENED }, states: 2000, recoveryShare: 1 }).findings).toEqual([])
})

test.each<readonly [string, Partial<Scope>]>([
  ['two replicas', {}],
  ['three replicas, of which one fails', { replicas: 3, faults: 1, orders: 1 }],
  ['deaths are proved', { faults: 1, orders: 1, canProveDeath: true }],
  ['a follower is named beside a leader that is cut off', FOLLOWER_NAMED],
  ['a leader that is cut off is named again', LEADER_NAMED],
])('A coordinator that names and prefers anybody at any time breaks no rule: %s', (_name, more) => {
  expect(explore({ scope: { ...COORDINATED, ...more }, states: 30_000, recoveryShare: 64 }).findings).toEqual([])
})

test('A step-down that is requested through the lease breaks no rule', () => {
  expect(explore({ scope: { ...REQUESTED, orders: 2 }, states: 40_000, recoveryShare: 64 }).findings).toEqual([])
})

test.each<readonly [string, Partial<Scope>]>([
  ['two replicas', { faults: 2, orders: 0 }],
  ['deaths are proved', { canProveDeath: true }],
])('Replicas that lead for life break no rule, although their lease is deleted: %s', (_name, more) => {
  expect(explore({ scope: { ...FOR_LIFE_LEASE, ...more }, states: 30_000, recoveryShare: 64 }).findings).toEqual([])
})

test('A fleet that is deleted or drained before it is stopped breaks no rule', () => {
  expect(explore({ scope: { ...DEPARTING, orders: 3 }, states: 40_000, recoveryShare: 64 }).findings).toEqual([])
})

test.each(['known', 'any'] as const)('A store that goes back breaks no rule: %s', (canRestore) => {
  const scope: Scope = { ...SCOPE, canRestore, orders: canRestore === 'known' ? 1 : 0 }
  const { findings } = explore({ scope, states: 20_000, recoveryShare: 64 })
  expect(findings).toEqual([])
})

test('The same exploration finds the same worlds', () => {
  const first = explore({ scope: SCOPE, states: 5000 })
  expect(explore({ scope: SCOPE, states: 5000 })).toEqual(first)
})

test('The shares of all scopes sum up to one', () => {
  expect(SCOPES.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1, 9)
})

test('A cell that was not reached is named', () => {
  const { missing, unexpected } = coverageOf(['idle × start', 'idle × stop'])
  expect(missing).toContain('following × wake')
  expect(missing).not.toContain('idle × start')
  expect(unexpected).toEqual(['idle × stop'])
})
