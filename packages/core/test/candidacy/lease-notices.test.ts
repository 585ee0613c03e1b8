import { expect, test } from 'vitest'
import { withRequest } from '../../src/election/rules/step-down-request.ts'
import { LeaseNotices } from '../../src/candidacy/lease-notices.ts'
import type { Logger } from '../../src/ports/logger.ts'
import { lease, ME, PureElector } from '../election/pure-elector.ts'

/** A logger that keeps its warnings, with the event of each. */
function warnings() {
  const lines: [string, unknown][] = []
  const drop = () => {}
  const logger: Logger = {
    debug: drop,
    info: drop,
    error: drop,
    warn: ({ event }, message) => void lines.push([message, event]),
    child: () => logger,
  }
  return { lines, notices: new LeaseNotices({ logger, lease: 'lease' }) }
}

/** A follower, and what is logged about the lease that it sees. */
function watcher() {
  const { lines, notices } = warnings()
  const elector = new PureElector()
  elector.follow(lease({ version: 1n }))
  const see = (...[fields]: Parameters<typeof lease>) => {
    elector.observe(lease(fields))
    notices.look(elector.state, elector.config)
  }
  return { lines, see }
}

test('a lease with a duration far above the own one is warned of once, with the duration and the remedy', () => {
  const { lines, see } = watcher()
  see({ version: 2n, leaseDurationSeconds: 60 })
  expect(lines).toEqual([])
  see({ version: 3n, leaseDurationSeconds: 100_000 })
  see({ version: 4n, leaseDurationSeconds: 100_000, renewTime: '2026-01-01T12:00:09.000000Z' })
  expect(lines).toEqual([
    [
      'The lease of other states a duration of 100000 s, and this replica writes 15 s. If that holder dies, nobody may ' +
        'acquire the lease for 100000 s. Set `spec.leaseDurationSeconds` to 15',
      'lease-duration-long',
    ],
  ])
  see({ version: 5n })
  see({ version: 6n, leaseDurationSeconds: 100_000 })
  expect(lines).toHaveLength(2)
})

test('a lease that finalizers keep is warned of once, to followers and to its leader', () => {
  const { lines, see } = watcher()
  see({ version: 2n, deleting: true })
  see({ version: 3n, deleting: true })
  expect(lines).toEqual([
    [
      'The lease is being deleted, but its finalizers keep it. Nobody can acquire it before they are gone. Remove ' +
        '`metadata.finalizers` from the lease',
      'lease-deleting',
    ],
  ])

  const leader = new PureElector().lead()
  leader.observe({ ...leader.stored(9n), deleting: true })
  const ofLeader = warnings()
  ofLeader.notices.look(leader.state, leader.config)
  expect(ofLeader.lines).toHaveLength(1)
})

/** A logger that keeps its lines about what is no problem. */
function informed() {
  const infos: (readonly [object, string])[] = []
  const drop = () => {}
  const logger: Logger = {
    debug: drop,
    warn: drop,
    error: drop,
    info: (fields, message) => void infos.push([fields, message]),
    child: () => logger,
  }
  return { infos, notices: new LeaseNotices({ logger, lease: 'lease' }) }
}

test('a step-down that is requested through the lease for any successor is logged without one', () => {
  const { infos, notices } = informed()
  const leader = new PureElector().lead()
  const { lease: held } = leader.as('leading').hold
  leader.observe({ ...held, version: 9n, record: withRequest(held.record, { id: 'r1' }) })
  leader.passTo(leader.now + 1)
  leader.as('draining')
  notices.look(leader.state, leader.config)
  expect(infos).toEqual([
    [
      { lease: 'lease', event: 'step-down-requested', request: 'r1', to: undefined },
      'a client requested through the lease that this replica hands over',
    ],
  ])
})

test('a step-down that is requested through the lease is logged once, with its id', () => {
  const { infos, notices } = informed()
  const leader = new PureElector().lead()
  const { lease: held } = leader.as('leading').hold
  leader.observe({ ...held, version: 9n, record: withRequest(held.record, { id: 'r1', to: 'other' }) })
  leader.passTo(leader.now + 1)
  notices.look(leader.state, leader.config)
  expect(infos).toEqual([])
  leader.takeOffer(10n)
  notices.look(leader.state, leader.config)
  notices.look(leader.state, leader.config)
  expect(infos).toEqual([
    [
      { lease: 'lease', event: 'step-down-requested', request: 'r1', to: 'other' },
      'a client requested through the lease that this replica hands over to other',
    ],
  ])
})

test('a request that the leader declines is logged once, with its id', () => {
  const { lines, notices } = warnings()
  const leader = new PureElector().lead()
  const { lease: held } = leader.as('leading').hold
  leader.observe({ ...held, version: 9n, record: withRequest(held.record, { id: 'r1', to: 'other' }) })
  leader.passTo(leader.now + 1)
  leader.acknowledge(10n)
  notices.look(leader.state, leader.config)
  expect(lines).toEqual([])
  leader.passTo(leader.now + 2300)
  leader.acknowledge(11n)
  leader.passTo(leader.now + 200)
  notices.look(leader.state, leader.config)
  notices.look(leader.state, leader.config)
  expect(lines).toEqual([
    [
      'declined a request to hand over to other, because no replica of this name answered. This replica leads on',
      'step-down-declined',
    ],
  ])
})

test('a leader is not warned of its own duration, nor a follower of a lease that nobody holds', () => {
  const { lines, see } = watcher()
  see({ version: 2n, leaseDurationSeconds: 100_000, holderIdentity: ME })
  see({ version: 3n, leaseDurationSeconds: 100_000, holderIdentity: '' })
  expect(lines).toEqual([])
})

test('a replica that leads and does nothing, or that never leads, is warned of at the start', () => {
  const { config } = new PureElector()
  const { lines, notices } = warnings()
  notices.started(1, config)
  expect(lines).toEqual([])
  notices.started(0, config)
  notices.started(0, { ...config, neverLeads: true })
  expect(lines).toEqual([
    [
      'no controller is registered for the lease lease: this replica will lead and do nothing. Call ' +
        '`register(() => new MyController())` before `start()`',
      'no-controllers',
    ],
    [
      "this replica never leads the lease lease, because of `rollout: 'never-lead'`. If no other replica runs, nobody leads",
      'never-leads',
    ],
  ])
})
