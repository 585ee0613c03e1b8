import { describe, expect, test } from 'vitest'
import type { ElectorEffect } from '../../src/election/machine/effect.ts'
import type { ElectorEvent } from '../../src/election/machine/event.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import { resolveTimingOptions } from '../../src/election/timing-options.ts'
import { CONFIG, kinds, lease, PureElector } from './pure-elector.ts'

type StateKind = ElectorState['kind']
type EventKind = ElectorEvent['kind']

interface Expected {
  readonly to: StateKind
  readonly effects: readonly ElectorEffect['kind'][]
}

const OTHER_HOLDER = lease({ version: 100n })

/** An elector in each state, with one request under way where the state can have one. */
const EXAMPLES: Readonly<Record<StateKind, () => PureElector>> = {
  idle: () => new PureElector(),
  following: () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n }))
    elector.send({ kind: 'watch-down' })
    return elector
  },
  acquiring: () => {
    const elector = new PureElector()
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    return elector
  },
  reserving: () => {
    const elector = new PureElector({ timing: resolveTimingOptions({ acquireDelayMs: 3000 }) })
    elector.follow(lease({ version: 1n, holderIdentity: '' }))
    elector.acknowledge(2n)
    elector.passTo(2000)
    return elector
  },
  leading: () => {
    const elector = new PureElector().lead()
    elector.passTo(2000)
    return elector
  },
  draining: () => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    return elector
  },
  aborting: () => {
    const elector = new PureElector().lead()
    elector.observe({ kind: 'absent', version: 3n })
    return elector
  },
  releasing: () => {
    const elector = new PureElector().lead()
    elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 4800 })
    elector.send({ kind: 'drained' })
    return elector
  },
  stopped: () => {
    const elector = new PureElector()
    elector.send({ kind: 'stop' })
    return elector
  },
}

/** Every event, as it is for the given elector: answers are those to its last request, and a wake comes a minute later. */
const EVENTS: Readonly<Record<EventKind, (elector: PureElector) => ElectorEvent>> = {
  start: () => ({ kind: 'start' }),
  stop: () => ({ kind: 'stop' }),
  'step-down': () => ({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 }),
  lost: () => ({ kind: 'lost', reason: 'stalled' }),
  observed: () => ({ kind: 'observed', snapshot: OTHER_HOLDER }),
  'watch-up': () => ({ kind: 'watch-up' }),
  'watch-down': () => ({ kind: 'watch-down' }),
  'write-answer': (elector) => ({
    kind: 'write-answer',
    request: elector.state.memory.requests,
    result: {
      kind: 'written',
      lease: elector.all('write').length === 0 ? OTHER_HOLDER : elector.stored(100n),
    },
  }),
  'read-answer': (elector) => ({
    kind: 'read-answer',
    request: elector.state.memory.requests,
    result: { kind: 'read', snapshot: OTHER_HOLDER },
  }),
  cleaning: () => ({ kind: 'cleaning' }),
  'cleanup-overdue': () => ({ kind: 'cleanup-overdue' }),
  drained: () => ({ kind: 'drained' }),
  'holder-dead': () => ({
    kind: 'holder-dead',
    holder: { identity: 'other', acquireTime: lease({ version: 1n }).record.acquireTime },
  }),
  wake: (elector) => {
    elector.stallTo(elector.now + 60_000)
    return { kind: 'wake' }
  },
}

const stays = (to: StateKind): Expected => ({ to, effects: [] })
const superseded: Expected = { to: 'aborting', effects: ['end-term', 'close-gate', 'hard-abort'] }

/** What every event does in every state. The compiler sees to it that no cell is missing. */
const TABLE: Readonly<Record<StateKind, Readonly<Record<EventKind, Expected>>>> = {
  idle: {
    start: stays('following'),
    stop: { to: 'stopped', effects: ['stopped'] },
    'step-down': stays('idle'),
    lost: stays('idle'),
    observed: stays('idle'),
    'watch-up': stays('idle'),
    'watch-down': stays('idle'),
    'write-answer': stays('idle'),
    'read-answer': stays('idle'),
    cleaning: stays('idle'),
    'cleanup-overdue': stays('idle'),
    drained: stays('idle'),
    'holder-dead': stays('idle'),
    wake: stays('idle'),
  },
  following: {
    start: stays('following'),
    stop: { to: 'stopped', effects: ['stopped'] },
    'step-down': stays('following'),
    lost: stays('following'),
    observed: stays('following'),
    'watch-up': stays('following'),
    'watch-down': stays('following'),
    'write-answer': stays('following'),
    'read-answer': stays('following'),
    cleaning: stays('following'),
    'cleanup-overdue': stays('following'),
    drained: stays('following'),
    'holder-dead': stays('following'),
    wake: stays('following'),
  },
  acquiring: {
    start: stays('acquiring'),
    stop: stays('acquiring'),
    'step-down': stays('acquiring'),
    lost: stays('acquiring'),
    observed: { to: 'acquiring', effects: ['leader-observed'] },
    'watch-up': stays('acquiring'),
    'watch-down': stays('acquiring'),
    'write-answer': { to: 'leading', effects: ['leader-observed', 'begin-term'] },
    'read-answer': stays('acquiring'),
    cleaning: stays('acquiring'),
    'cleanup-overdue': stays('acquiring'),
    drained: stays('acquiring'),
    'holder-dead': stays('acquiring'),
    wake: stays('acquiring'),
  },
  reserving: {
    start: stays('reserving'),
    // The release waits for the renewal that is under way.
    stop: { to: 'releasing', effects: [] },
    'step-down': stays('reserving'),
    lost: { to: 'acquiring', effects: ['write'] },
    observed: { to: 'following', effects: [] },
    'watch-up': stays('reserving'),
    'watch-down': stays('reserving'),
    'write-answer': { to: 'reserving', effects: ['extend-validity', 'renewed'] },
    'read-answer': stays('reserving'),
    cleaning: stays('reserving'),
    'cleanup-overdue': stays('reserving'),
    drained: stays('reserving'),
    'holder-dead': stays('reserving'),
    wake: { to: 'acquiring', effects: ['write'] },
  },
  leading: {
    start: stays('leading'),
    stop: { to: 'draining', effects: ['end-term'] },
    'step-down': { to: 'draining', effects: ['end-term'] },
    lost: { to: 'aborting', effects: ['end-term'] },
    observed: superseded,
    'watch-up': stays('leading'),
    'watch-down': stays('leading'),
    'write-answer': { to: 'leading', effects: ['extend-validity', 'renewed'] },
    'read-answer': stays('leading'),
    cleaning: stays('leading'),
    'cleanup-overdue': stays('leading'),
    drained: stays('leading'),
    'holder-dead': stays('leading'),
    wake: { to: 'aborting', effects: ['end-term', 'hard-abort'] },
  },
  draining: {
    start: stays('draining'),
    stop: stays('draining'),
    'step-down': stays('draining'),
    lost: { to: 'aborting', effects: ['end-term'] },
    observed: superseded,
    'watch-up': stays('draining'),
    'watch-down': stays('draining'),
    'write-answer': stays('draining'),
    'read-answer': stays('draining'),
    cleaning: stays('draining'),
    'cleanup-overdue': { to: 'draining', effects: ['wedged', 'exit'] },
    drained: { to: 'releasing', effects: ['write'] },
    'holder-dead': stays('draining'),
    wake: { to: 'aborting', effects: ['end-term', 'hard-abort'] },
  },
  aborting: {
    start: stays('aborting'),
    stop: stays('aborting'),
    'step-down': stays('aborting'),
    lost: stays('aborting'),
    observed: { to: 'aborting', effects: ['close-gate', 'hard-abort'] },
    'watch-up': stays('aborting'),
    'watch-down': stays('aborting'),
    'write-answer': stays('aborting'),
    'read-answer': stays('aborting'),
    cleaning: stays('aborting'),
    'cleanup-overdue': { to: 'aborting', effects: ['wedged', 'exit'] },
    drained: { to: 'acquiring', effects: ['term-over', 'leader-observed', 'write'] },
    'holder-dead': stays('aborting'),
    wake: { to: 'aborting', effects: ['hard-abort', 'wedged', 'exit'] },
  },
  releasing: {
    start: stays('releasing'),
    stop: stays('releasing'),
    'step-down': stays('releasing'),
    lost: stays('releasing'),
    observed: { to: 'following', effects: ['term-over', 'leader-observed'] },
    'watch-up': stays('releasing'),
    'watch-down': stays('releasing'),
    'write-answer': { to: 'following', effects: ['term-over', 'leader-observed'] },
    'read-answer': stays('releasing'),
    cleaning: stays('releasing'),
    'cleanup-overdue': stays('releasing'),
    drained: stays('releasing'),
    'holder-dead': stays('releasing'),
    wake: { to: 'following', effects: ['term-over'] },
  },
  stopped: {
    start: stays('stopped'),
    stop: stays('stopped'),
    'step-down': stays('stopped'),
    lost: stays('stopped'),
    observed: stays('stopped'),
    'watch-up': stays('stopped'),
    'watch-down': stays('stopped'),
    'write-answer': stays('stopped'),
    'read-answer': stays('stopped'),
    cleaning: stays('stopped'),
    'cleanup-overdue': stays('stopped'),
    drained: stays('stopped'),
    'holder-dead': stays('stopped'),
    wake: stays('stopped'),
  },
}

const STATE_KINDS = Object.keys(TABLE) as StateKind[]
const EVENT_KINDS = Object.keys(EVENTS) as EventKind[]

describe.each(STATE_KINDS)('An elector that is %s', (from) => {
  test.each(EVENT_KINDS)('does what the table says on %s', (event) => {
    const elector = EXAMPLES[from]()
    expect(elector.state.kind).toBe(from)
    const before = elector.state
    const effects = elector.send(EVENTS[event](elector))
    expect({ to: elector.state.kind, effects: kinds(effects) }).toEqual(TABLE[from][event])
    expect(before.kind).toBe(from)
  })

  test('gives the same answer to the same event at the same moment', () => {
    for (const event of EVENT_KINDS) {
      const [first, second] = [EXAMPLES[from](), EXAMPLES[from]()]
      expect(first.send(EVENTS[event](first))).toEqual(second.send(EVENTS[event](second)))
      expect(first.state).toEqual(second.state)
    }
  })
})

test('the examples use the settings that users get', () => {
  expect(CONFIG.timing).toEqual(resolveTimingOptions())
})
