import { describe, expect, test } from 'vitest'
import { explainChoice, explainNaming, StrategyNotices } from '../../src/candidacy/strategy-notices.ts'
import type { ElectorConfig } from '../../src/election/machine/config.ts'
import type { Draining, Leading } from '../../src/election/machine/state.ts'
import { type Standby, withList } from '../../src/election/rules/standby-note.ts'
import type { Strategy } from '../../src/election/rules/strategy.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import type { PresentLease } from '../../src/lock/lock.ts'
import type { Logger } from '../../src/ports/logger.ts'
import { lease, ME, PureElector } from '../election/pure-elector.ts'

const DECIDES = 'The election controller of the API server decides who leads'

const OLDEST = {
  name: 'OldestEmulationVersion',
  version: 1,
  compare: undefined,
  binaryVersion: '1.36.0',
  emulationVersion: '1.35.0',
} as const satisfies Strategy

/** A strategy of its own by a number that each replica states. */
const ROOM = {
  name: 'example.com/room',
  version: 1,
  compare: (a, b) => Number(b.attributes['room']) - Number(a.attributes['room']),
  binaryVersion: undefined,
  emulationVersion: undefined,
} as const satisfies Strategy

const configOf = (more: Partial<ElectorConfig>): ElectorConfig => ({ ...new PureElector().config, ...more })

/** Another replica that follows `OldestEmulationVersion`. */
const standby = (identity: string, facts: Partial<Standby> = {}): Standby => ({
  identity,
  revision: undefined,
  since: 1n,
  strategy: OLDEST.name,
  binaryVersion: '1.36.0',
  emulationVersion: '1.35.0',
  ...facts,
})

/** The record of a holder that states these facts, with these standbys. */
function recordOf(standbys: readonly Standby[], leader?: Partial<Standby>, holder = 'other'): LeaseRecord {
  const { record } = lease({ version: 1n, holderIdentity: holder })
  const { strategy, binaryVersion, emulationVersion } = standby(holder)
  return withList(record, standbys, { holder, leader: { strategy, binaryVersion, emulationVersion, ...leader } })
}

describe('A replica that waits for a coordinator', () => {
  /** What the replica says of a lease. */
  function naming({ name = 'OldestEmulationVersion', holder = 'other', preferred = '', known = {} } = {}): string {
    const { record } = lease({ version: 1n, holderIdentity: holder })
    return explainNaming({ ...record, preferredHolder: preferred }, configOf({ strategy: { ...OLDEST, name } }), known)
  }

  test('says that nobody leads', () => {
    expect(naming({ holder: '' })).toBe(`It waits to be chosen: nobody leads. ${DECIDES}`)
    expect(explainNaming(undefined, new PureElector().config, undefined)).toBe(
      `It waits to be chosen: nobody leads. ${DECIDES}`,
    )
  })

  test('compares the versions that differ and decide, as the holder published them', () => {
    const known = { binaryVersion: '1.37.0', emulationVersion: '1.34.0' }
    expect(naming()).toBe(`It waits to be chosen: other leads. ${DECIDES}`)
    expect(naming({ known })).toBe(
      `It waits to be chosen: other leads with 1.34.0, this replica has 1.35.0. ${DECIDES}`,
    )
    expect(naming({ known: { ...known, emulationVersion: '1.35.0' } })).toBe(
      `It waits to be chosen: other leads with 1.37.0, this replica has 1.36.0. ${DECIDES}`,
    )
    expect(naming({ known, name: 'NewestVersion' })).toBe(
      `It waits to be chosen: other leads with 1.37.0, this replica has 1.36.0. ${DECIDES}`,
    )
    expect(naming({ known, name: 'example.com/mine' })).toBe(`It waits to be chosen: other leads. ${DECIDES}`)
  })

  test('prefers the versions that the record of the holder states', () => {
    const config = configOf({ strategy: OLDEST })
    const known = { binaryVersion: '1.36.0', emulationVersion: '1.33.0' }
    expect(explainNaming(recordOf([], { emulationVersion: '1.34.0' }), config, known)).toBe(
      `It waits to be chosen: other leads with 1.34.0, this replica has 1.35.0. ${DECIDES}`,
    )
    expect(explainNaming(recordOf([], { binaryVersion: undefined }), config, known)).toBe(
      `It waits to be chosen: other leads with 1.33.0, this replica has 1.35.0. ${DECIDES}`,
    )
  })

  test('compares no versions without a strategy, or where a version is missing', () => {
    const known = { binaryVersion: '1.36.0', emulationVersion: '1.33.0' }
    const { record } = lease({ version: 1n })
    const says = `It waits to be chosen: other leads. ${DECIDES}`
    expect(explainNaming(record, configOf({}), known)).toBe(says)
    expect(explainNaming(record, configOf({ strategy: { ...OLDEST, emulationVersion: undefined } }), known)).toBe(says)
    expect(naming({ known: { ...known, emulationVersion: undefined } })).toBe(says)
  })

  test('says who is to hand over, where the coordinator prefers it', () => {
    expect(naming({ preferred: ME })).toBe(
      `It waits to be chosen: other leads. ${DECIDES}, and prefers this replica: other is to hand over`,
    )
  })
})

describe('A replica that follows explains its rank', () => {
  const me = standby(ME)
  const explained = (record: LeaseRecord, self: Standby = me, strategy: Strategy | undefined = OLDEST) =>
    explainChoice(record, self, configOf({ strategy }))

  test('by the versions of the leader, where they decide', () => {
    expect(explained(recordOf([], { emulationVersion: '1.34.0' }))).toBe(
      'It waits to be chosen: other leads with 1.34.0, this replica has 1.35.0',
    )
    expect(explained(recordOf([], { binaryVersion: '1.34.0' }))).toBe(
      'It waits to be chosen: other leads with 1.34.0, this replica has 1.36.0',
    )
  })

  test('by the strategy alone, where that is not built in', () => {
    const own = { strategy: ROOM.name, attributes: { room: 1 } }
    const leader = { ...own, attributes: { room: 2 }, binaryVersion: '1.30.0' }
    expect(explained(recordOf([], leader), standby(ME, own), ROOM)).toBe(
      'It waits to be chosen: other leads, and example.com/room prefers it',
    )
  })

  test('by its warm-ups, before all else', () => {
    expect(explained(recordOf([], { emulationVersion: '1.34.0' }), { ...me, warm: false })).toBe(
      'It waits until its warm-ups are ready: other leads',
    )
    expect(explained(recordOf([]), { ...me, warm: true })).toBeUndefined()
  })

  test('by the leader that is to hand over to it', () => {
    expect(explained(recordOf([], { emulationVersion: '1.36.0' }))).toBe(
      'OldestEmulationVersion prefers this replica: it waits until other hands over',
    )
  })

  test('by the older version of the strategy that others know', () => {
    const newer = { ...ROOM, version: 3 }
    const self = standby(ME, { strategy: ROOM.name, strategyVersion: 3 })
    const own = { strategy: ROOM.name }
    expect(explained(recordOf([], own), self, newer)).toBe(
      'other knows version 1 of example.com/room, and this replica version 3: the older one counts',
    )
    expect(explained(recordOf([], { ...own, strategyVersion: 2 }), self, newer)).toBe(
      'other knows version 2 of example.com/room, and this replica version 3: the older one counts',
    )
  })

  test('by the revision, where a strategy does not decide', () => {
    expect(explained(recordOf([], { strategy: 'NewestVersion' }))).toBe(
      'other follows the strategy NewestVersion, and this replica follows OldestEmulationVersion, so the revision decides who leads',
    )
    expect(explained(lease({ version: 1n }).record)).toBe(
      'other follows no strategy, and this replica follows OldestEmulationVersion, so the revision decides who leads',
    )
    const throws = { ...ROOM, compare: () => expect.fail('no room') }
    expect(explained(recordOf([], { strategy: ROOM.name }), standby(ME, { strategy: ROOM.name }), throws)).toBe(
      '`compare` of example.com/room decides nothing: it threw, so the revision decides who leads',
    )
  })

  test('not at all, where nobody leads, it leads itself, none is better, or there is no strategy', () => {
    expect(explained(recordOf([], {}, ''))).toBeUndefined()
    expect(explained(recordOf([], { emulationVersion: '1.34.0' }, ME))).toBeUndefined()
    expect(explained(recordOf([], {}, ME), { ...me, warm: false })).toBeUndefined()
    expect(explained(recordOf([]))).toBeUndefined()
    expect(explainChoice(recordOf([], { strategy: 'NewestVersion' }), me, configOf({}))).toBeUndefined()
  })
})

/** A line of the log. */
type Line = readonly [level: string, fields: object, message: string]

/** What is logged of a lease whose replicas follow a strategy. */
function watched() {
  const lines: Line[] = []
  const write = (level: string) => (fields: object, message: string) => void lines.push([level, fields, message])
  const logger: Logger = {
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: () => logger,
  }
  return { lines, notices: new StrategyNotices({ logger, lease: 'lease' }) }
}

/** The state of a leader of this record. */
function leading(record: LeaseRecord, more: Partial<Leading> = {}): Leading {
  const state = new PureElector().lead().as('leading')
  return { ...state, hold: { ...state.hold, lease: { ...state.hold.lease, record } }, ...more }
}

/** The same leader, whose term ends. */
function ending(record: LeaseRecord, stepDown: Partial<Draining['stepDown']>): Draining {
  const elector = new PureElector().lead()
  elector.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
  const state = elector.as('draining')
  const hold = { ...state.hold, lease: { ...state.hold.lease, record } }
  return { ...state, hold, stepDown: { ...state.stepDown, ...stepDown } }
}

const held = (record: LeaseRecord): PresentLease => ({ ...lease({ version: 1n }), record })

describe('A strategy that does not decide', () => {
  const follower = new PureElector().state
  const mismatch = recordOf([], { strategy: 'NewestVersion' })
  const sound = recordOf([])
  const config = configOf({ strategy: OLDEST })
  const warned: Line = [
    'warn',
    { lease: 'lease', event: 'strategy-mismatch', strategy: 'OldestEmulationVersion' },
    'other follows the strategy NewestVersion, and this replica follows OldestEmulationVersion. The revision decides who leads',
  ]

  test('is logged once for each time', () => {
    const { lines, notices } = watched()
    const see = (record: LeaseRecord) => notices.look(follower, held({ ...record }), config)
    see(mismatch)
    see(mismatch)
    expect(lines).toEqual([warned])
    see(sound)
    expect(lines).toEqual([warned])
    see(mismatch)
    expect(lines).toEqual([warned, warned])
  })

  test('is logged again for another reason', () => {
    const { lines, notices } = watched()
    const throws = { ...ROOM, compare: () => expect.fail('no room') }
    const own = configOf({ strategy: throws })
    notices.look(follower, held(recordOf([])), own)
    notices.look(follower, held(recordOf([], { strategy: ROOM.name })), own)
    expect(lines.map(([level, fields, message]) => [level, (fields as { event: string }).event, message])).toEqual([
      [
        'warn',
        'strategy-mismatch',
        'other follows the strategy OldestEmulationVersion, and this replica follows example.com/room. The revision decides who leads',
      ],
      [
        'warn',
        'strategy-contradiction',
        '`compare` of example.com/room decides nothing: it threw. The revision decides who leads',
      ],
    ])
  })

  test('is not logged where another version of it decides', () => {
    const { lines, notices } = watched()
    notices.look(follower, held(recordOf([])), configOf({ strategy: { ...OLDEST, version: 2 } }))
    expect(lines).toEqual([])
  })

  test('is not looked for where a coordinator decides, there is no strategy, or no lease', () => {
    const { lines, notices } = watched()
    notices.look(follower, held(mismatch), configOf({ strategy: OLDEST, coordination: 'server' }))
    notices.look(follower, held(mismatch), configOf({ strategy: OLDEST, coordination: 'asking' }))
    notices.look(follower, held(mismatch), configOf({}))
    notices.look(follower, undefined, config)
    expect(lines).toEqual([])
    notices.look(follower, held(mismatch), config)
    expect(lines).toEqual([warned])
  })

  test('has its comparison called once for each record', () => {
    let calls = 0
    const compare: typeof ROOM.compare = () => ((calls += 1), 0)
    const own = configOf({ strategy: { ...ROOM, compare } })
    const { notices } = watched()
    const view = held(recordOf([], { strategy: ROOM.name }))
    notices.look(follower, view, own)
    const once = calls
    notices.look(follower, { ...view, version: 2n }, own)
    expect([once > 0, calls]).toEqual([true, once])
  })
})

describe('A leader that hands over to a better candidate', () => {
  const better = standby('better', { emulationVersion: '1.34.0', attributes: { room: 1 } })
  const record = recordOf([standby('equal'), better], {}, ME)
  const proposal = { to: 'better', until: 100 }
  const config = configOf({ strategy: OLDEST })
  const from = leading(record, { proposal })
  const to = ending(record, { reason: 'step-down', to: 'better' })

  test('says so with the versions of both, and counts it', () => {
    const { lines, notices } = watched()
    notices.look(from, held(record), config)
    expect([lines, notices.preemptions]).toEqual([[], { handedOver: 0, unavailable: 0 }])
    notices.look(to, held(record), config)
    notices.look(to, held(record), config)
    const facts = { binaryVersion: '1.36.0', emulationVersion: '1.34.0', attributes: { room: 1 } }
    expect(lines).toEqual([
      [
        'info',
        {
          lease: 'lease',
          event: 'handing-over',
          strategy: 'OldestEmulationVersion',
          to: 'better',
          binaryVersion: '1.36.0',
          emulationVersion: '1.35.0',
          successor: facts,
        },
        'hands over to better: OldestEmulationVersion prefers it: it has 1.34.0, this replica has 1.35.0',
      ],
    ])
    expect(notices.preemptions).toEqual({ handedOver: 1, unavailable: 0 })
    notices.look(from, held(record), config)
    notices.look(to, held(record), config)
    expect(notices.preemptions).toEqual({ handedOver: 2, unavailable: 0 })
  })

  test('says no versions where the list does not name it, or there is no lease', () => {
    for (const view of [held(recordOf([standby('equal')], {}, ME)), undefined]) {
      const { lines, notices } = watched()
      notices.look(from, view, config)
      notices.look(to, view, config)
      expect(lines).toEqual([
        [
          'info',
          {
            lease: 'lease',
            event: 'handing-over',
            strategy: 'OldestEmulationVersion',
            to: 'better',
            binaryVersion: '1.36.0',
            emulationVersion: '1.35.0',
          },
          'hands over to better: OldestEmulationVersion prefers it',
        ],
      ])
      expect(lines[0]?.[1]).not.toHaveProperty('successor')
    }
  })

  test('says no versions where the strategy is of its own', () => {
    const own = { strategy: ROOM.name, emulationVersion: '1.34.0' }
    const roomy = recordOf([standby('better', { ...own, attributes: { room: 1 } })], own, ME)
    const { lines, notices } = watched()
    const mine = configOf({ strategy: ROOM, attributes: { room: 2 } })
    notices.look(leading(roomy, { proposal }), held(roomy), mine)
    notices.look(ending(roomy, { reason: 'step-down', to: 'better' }), held(roomy), mine)
    expect(lines.map(([, , message]) => message)).toEqual(['hands over to better: example.com/room prefers it'])
  })

  test('says that the coordinator prefers it, where there is one', () => {
    const preferred = { identity: 'better', isAlive: true }
    const coordinated = configOf({ strategy: OLDEST, coordination: 'server', preferred })
    const named = { ...record, preferredHolder: 'better' }
    const { lines, notices } = watched()
    notices.look(leading(named), held(named), coordinated)
    notices.look(ending(named, { reason: 'step-down' }), held(named), coordinated)
    expect(lines.map(([, , message]) => message)).toEqual([
      'hands over to better: the election controller of the API server prefers it: it has 1.34.0, this replica has 1.35.0',
    ])
    expect(notices.preemptions).toEqual({ handedOver: 1, unavailable: 0 })
  })

  test.each([
    ['did not propose it to anyone', leading(record), to],
    ['ends for another reason', from, ending(record, { reason: 'shutdown', to: 'better' })],
    ['names no successor', from, ending(record, { reason: 'step-down' })],
    ['was seen to end only', new PureElector().state, to],
    ['leads on', from, from],
  ])('is not what a replica does that %s', (_, before, after) => {
    const { lines, notices } = watched()
    notices.look(before, held(record), config)
    notices.look(after, held(record), config)
    expect([lines, notices.preemptions]).toEqual([[], { handedOver: 0, unavailable: 0 }])
  })

  test('is not what a replica does whose coordinator prefers nobody, or that has no strategy', () => {
    for (const other of [configOf({ strategy: OLDEST, coordination: 'server' }), configOf({})]) {
      const { lines, notices } = watched()
      notices.look(from, held(record), other)
      notices.look(to, held(record), other)
      expect([lines, notices.preemptions]).toEqual([[], { handedOver: 0, unavailable: 0 }])
    }
  })
})

describe('A better candidate that is gone is counted', () => {
  const record = recordOf([], {}, ME)
  const memory = (missed: string | undefined) => ({ ...leading(record).memory, missed })

  test('once for each standby that missed its proposal, while the replica leads', () => {
    const { notices } = watched()
    const config = configOf({ strategy: OLDEST })
    const counts = [undefined, 'a', 'a', 'b', undefined, 'b'].map((missed) => {
      notices.look(leading(record, { memory: memory(missed) }), held(record), config)
      return notices.preemptions.unavailable
    })
    expect(counts).toEqual([0, 1, 1, 2, 2, 3])
    notices.look({ ...ending(record, { reason: 'shutdown' }), memory: memory('c') }, held(record), config)
    expect(notices.preemptions).toEqual({ handedOver: 0, unavailable: 3 })
  })

  test('also at the first look', () => {
    const { notices } = watched()
    notices.look(leading(record, { memory: memory('a') }), held(record), configOf({ strategy: OLDEST }))
    expect(notices.preemptions).toEqual({ handedOver: 0, unavailable: 1 })
  })

  test('once for each candidate of a coordinator that was found dead', () => {
    const { notices } = watched()
    type Seen = { readonly isAlive?: boolean; readonly coordination?: 'server' | 'asking' }
    const look = (identity: string, { isAlive = false, coordination = 'server' }: Seen = {}) => {
      const preferred = { identity, isAlive }
      notices.look(leading(record), held(record), configOf({ strategy: OLDEST, coordination, preferred }))
      return notices.preemptions.unavailable
    }
    expect([look('a'), look('a'), look('b'), look('b', { isAlive: true }), look('b')]).toEqual([1, 1, 2, 2, 3])
    expect([look('c', { coordination: 'asking' }), look('d', { isAlive: true })]).toEqual([3, 3])
    notices.look(leading(record), held(record), configOf({ strategy: OLDEST, coordination: 'server' }))
    expect(notices.preemptions).toEqual({ handedOver: 0, unavailable: 3 })
  })
})
