/** Replicas as processes that follow a strategy, under the controller of the API server and without it. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ApiServer, GATE_OFF, GATE_ON, openApiServer, STORED_ONLY } from './api-server.ts'
import { CoordinatedScenario } from './coordinated-scenario.ts'
import { PATIENT, STEADY } from './timings.ts'

/** The controller waits 5 s for a dead candidate, looks every 5 s, and may have stopped for 20 s. */
/** Outlasts an API server that takes long to start again. */
const LASTING = { ...PATIENT, leaseDurationMs: 60_000, renewDeadlineMs: 50_000 }
/** How long nothing may change. */
const WATCHED_MS = 3000

const names = (runs: readonly { readonly replica: string }[]): readonly string[] => runs.map(({ replica }) => replica)

describe.concurrent('Under the controller of the API server', () => {
  let server: ApiServer
  beforeAll(async () => {
    server = await openApiServer(GATE_ON)
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('a better candidate leads when the leader has drained, and the next best when it leaves', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const worst = await fleet.start('worst', '1.36.0')
    await worst.saw('acted')
    const best = await fleet.start('best', '1.34.0')
    await best.saw('acted')
    await worst.follows('best')
    const middle = await fleet.start('middle', '1.35.0')
    await middle.follows('best')
    await fleet.hasCandidates('best', 'middle', 'worst')
    expect((await best.terminate()).code).toBe(0)
    await middle.saw('acted')
    await fleet.hasCandidates('middle', 'worst')

    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs).slice(0, 2)).toEqual(['worst', 'best'])
    expect(names(runs).at(-1)).toBe('middle')
    const [first] = runs
    // One write names the better candidate: until the leader has left, there is no lease without a holder.
    const { entries } = fleet.scenario.lease
    const changed = entries.find(({ holder, at }) => holder !== 'worst' && at > (first?.beganAt ?? 0n))
    expect(changed?.holder).toBe('best')
  })

  it('a killed leader has a successor after its lease has expired', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const leader = await fleet.start('leader', '1.34.0', { timing: STEADY })
    await leader.saw('acted')
    const follower = await fleet.start('follower', '1.35.0', { timing: STEADY })
    await follower.follows('leader')
    await fleet.hasCandidates('follower', 'leader')
    leader.signal('SIGKILL')
    await follower.saw('acted')
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs).at(-1)).toBe('follower')
  })

  it('candidates that a human edits or deletes come back, and nobody leads beside another replica', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const leader = await fleet.start('leader', '1.34.0')
    await leader.saw('acted')
    const follower = await fleet.start('follower', '1.35.0')
    await fleet.hasCandidates('follower', 'leader')
    await fleet.edit('leader', { emulationVersion: '1.39.0' })
    await fleet.hasField('leader', 'emulationVersion', '1.34.0')
    await leader.logged('candidate-edited')
    await fleet.edit('follower', { strategy: 'example.com/mine' })
    await fleet.hasField('follower', 'strategy', 'OldestEmulationVersion')
    await fleet.delete('follower')
    await fleet.hasCandidates('follower', 'leader')
    await fleet.delete('leader')
    await fleet.hasCandidates('follower', 'leader')
    // Whom the edits made lead meanwhile is open. In the end the best one leads.
    await fleet.scenario.lease.waitFor('that the best one holds', ({ holder }) => holder === 'leader')
    expect([leader.isRunning, follower.isRunning]).toEqual([true, true])
    expect((await fleet.ledger()).wrongs).toEqual([])
  })

  it('a replica whose name is no name of a candidate does not start, and says so in one line', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const odd = await fleet.start('odd', '1.34.0', { identity: 'web:1' })
    expect((await odd.exited).code).toBe(2)
    expect(odd.stderr).toMatch(/Expected `identity` to name a LeaseCandidate: .*, got `web:1` \(string\)/)
  })

  it('a replica without rights on candidates says which right is missing and where, and others lead', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const { scenario } = fleet
    await scenario.grant('bound')
    const bound = await fleet.start('bound', '1.34.0', { granted: false })
    const { msg } = await bound.logged('candidate-failed')
    expect(msg).toContain(
      `the Role in namespace ${scenario.namespace} must grant the verb "create" on the resource "leasecandidates"`,
    )
    const free = await fleet.start('free', '1.35.0')
    await free.saw('acted')
    expect(bound.all('loop-began')).toEqual([])
  })

  it('a replica whose clock is 20 s slow is elected, and nobody leads beside it', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const slow = await fleet.start('slow', '1.35.0', { clockAheadMs: -20_000 })
    await slow.saw('acted')
    const worse = await fleet.start('worse', '1.36.0')
    await fleet.hasCandidates('slow', 'worse')
    await sleep(WATCHED_MS)
    expect(worse.all('loop-began')).toEqual([])
    const better = await fleet.start('better', '1.34.0')
    await better.saw('acted')
    expect((await fleet.ledger()).wrongs).toEqual([])
  })

  it('strategies of its own are decided by the replicas, which publish no candidates', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const mine = (room: number) => ({ strategy: 'example.com/room', attributes: { room } })
    const less = await fleet.startWith('less', mine(1), { compare: 'room' })
    await less.saw('acted')
    const more = await fleet.startWith('more', mine(2), { compare: 'room' })
    await more.saw('acted')
    expect(await fleet.candidates()).toEqual([])
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs)).toEqual(['less', 'more'])
  })
})

describe.concurrent('Where the replicas decide', () => {
  let server: ApiServer
  beforeAll(async () => {
    server = await openApiServer(GATE_OFF)
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
  })

  it('a better replica leads when the leader has drained, the next best when it leaves, and one more after a crash', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const worst = await fleet.start('worst', '1.36.0', { timing: STEADY })
    await worst.saw('acted')
    const best = await fleet.start('best', '1.34.0', { timing: STEADY })
    await best.saw('acted')
    const middle = await fleet.start('middle', '1.35.0', { timing: STEADY })
    await middle.follows('best')
    for (const listed of [middle, worst]) await fleet.lists(listed)
    expect((await best.terminate()).code).toBe(0)
    await middle.saw('acted')
    const before = worst.events.length
    middle.signal('SIGKILL')
    await worst.saw('acted', { from: before })
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs).slice(0, 2)).toEqual(['worst', 'best'])
    // On a busy machine the worst one may be faster when the best one leaves, and makes way.
    expect(names(runs).slice(-2)).toEqual(['middle', 'worst'])
  })

  it('replicas with other strategies say so, and one of them leads', async () => {
    await using fleet = await CoordinatedScenario.open(server)
    const mine = await fleet.startWith('mine', { strategy: 'example.com/mine' }, { compare: 'room' })
    await mine.saw('acted')
    const yours = await fleet.startWith('yours', { strategy: 'example.com/yours' }, { compare: 'room' })
    const { msg } = await yours.logged('strategy-mismatch')
    expect(msg).toContain('mine follows the strategy example.com/mine, and this replica follows example.com/yours')
    await sleep(WATCHED_MS)
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs)).toEqual(['mine'])
  })

  it.each([
    ['throws', 'it threw'],
    ['circle', 'in a circle'],
  ] as const)('replicas whose comparison is no order (%s) say so, and one of them leads', async (compare, problem) => {
    await using fleet = await CoordinatedScenario.open(server)
    const start = (room: number) =>
      fleet.startWith(`room-${room}`, { strategy: 'example.com/room', attributes: { room } }, { compare })
    const first = await start(1)
    await first.saw('acted')
    const others = [await start(2), await start(3)]
    for (const other of others) expect((await other.logged('strategy-contradiction'))['msg']).toContain(problem)
    await sleep(WATCHED_MS)
    const before = await fleet.ledger()
    expect(before.wrongs).toEqual([])
    await sleep(WATCHED_MS)
    // With two replicas a circle is an order. With three the leader stays.
    expect(names((await fleet.ledger()).runs)).toEqual(names(before.runs))
  })
})

// Each of them ends an API server of its own.
describe.concurrent('When the API server changes under way', () => {
  it('a leader leads on and the replicas decide when the gate is switched off, and the controller when it is on again', async () => {
    await using server = await openApiServer(GATE_ON)
    await using fleet = await CoordinatedScenario.open(server)
    const leader = await fleet.start('leader', '1.35.0', { timing: LASTING })
    await leader.saw('acted')
    const follower = await fleet.start('follower', '1.36.0', { timing: LASTING })
    await fleet.hasCandidates('follower', 'leader')
    const replicas = [leader, follower]
    const decided = (by: 'peers' | 'server', from: readonly number[]) =>
      Promise.all(
        replicas.map(({ logs }, index) =>
          logs.waitFor(
            `that ${by} decide`,
            ({ event, coordination }) => event === 'coordination' && coordination === by,
            {
              from: from[index] ?? 0,
            },
          ),
        ),
      )
    // The API of LeaseCandidates vanishes with the gate, then only the gate is off, then all is there again.
    let before = replicas.map(({ logs }) => logs.length)
    await server.restartWith(GATE_OFF)
    await decided('peers', before)
    expect(leader.all('loop-ended')).toEqual([])
    await server.restartWith(STORED_ONLY)
    before = replicas.map(({ logs }) => logs.length)
    await server.restartWith(GATE_ON)
    await decided('server', before)
    await fleet.hasCandidates('follower', 'leader')
    expect(leader.all('loop-ended')).toEqual([])
    const better = await fleet.start('better', '1.34.0', { timing: LASTING })
    await better.saw('acted')
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    // A candidate that answers its ping late, on a busy machine, makes way for a while.
    expect(names(runs)[0]).toBe('leader')
    expect(names(runs).at(-1)).toBe('better')
  })

  it('a leader that dies while the controller is down has a successor when it is back', async () => {
    await using server = await openApiServer(GATE_ON)
    await using fleet = await CoordinatedScenario.open(server)
    const leader = await fleet.start('leader', '1.34.0', { timing: PATIENT })
    await leader.saw('acted')
    const follower = await fleet.start('follower', '1.35.0', { timing: PATIENT })
    await fleet.hasCandidates('follower', 'leader')
    await server.takeDown()
    leader.signal('SIGKILL')
    await server.bringBack()
    await follower.saw('acted')
    const { runs, wrongs } = await fleet.ledger()
    expect(wrongs).toEqual([])
    expect(names(runs)).toEqual(['leader', 'follower'])
  })
})
