import { describe, expect, test } from 'vitest'
import { check, TracedElector } from './support/traced-elector.ts'

const elector = (identity: string, machine?: string) => new TracedElector({ identity }, machine)

/** A leader, and a follower that has seen its lease. */
function fleet(machineOfFollower?: string) {
  const leader = elector('leader').lead()
  const follower = elector('follower', machineOfFollower)
  follower.follow(leader.stored(2n))
  return { leader, follower }
}

/** The leader sends a renewal, which the follower sees as version 3. */
function renews(leader: TracedElector, follower: TracedElector): void {
  leader.passTo(2000)
  follower.passTo(2001)
  follower.observe(leader.stored(3n))
}

/** The follower takes the lease as soon as it may by its own clock, and acts. */
function takesOver(follower: TracedElector): void {
  acquires(follower)
  follower.acknowledge(4n)
  follower.as('leading')
}

function acquires(follower: TracedElector): void {
  while (follower.state.kind !== 'acquiring') follower.passTo(follower.now + 250)
}

function seesDeath(follower: TracedElector, leader: TracedElector): void {
  const { holderIdentity: identity, acquireTime } = leader.stored(3n).record
  follower.send({ kind: 'holder-dead', holder: { identity, acquireTime } })
}

/** Only the last line says how far its clocks are apart: the same line without that. */
function forgetApart({ lines }: TracedElector): void {
  const last = lines.pop() ?? ''
  expect(last).toMatch(/"j":2000[0-9.]*,/)
  lines.push(last.replace(/"j":[0-9.]+,/, ''))
}

describe('A process that is paused between a decision and the line about it', () => {
  test('does not seem to act after its time', () => {
    const { leader, follower } = fleet()
    renews(leader, follower)
    leader.pauses = { before: 20_000, after: 0 }
    leader.acknowledge(3n)
    takesOver(follower)
    follower.passTo(leader.now)
    follower.acknowledge(5n)
    expect(check(leader, follower)).toEqual([])
    forgetApart(leader)
    expect(check(leader, follower)).toContainEqual(expect.stringMatching(/^S1: /))
  })

  test('does not seem to begin its term after the next one', () => {
    const { leader, follower } = fleet()
    const successor = elector('successor')
    successor.follow(leader.stored(2n))
    acquires(follower)
    successor.now = follower.now + 1
    successor.observe(follower.stored(3n))
    follower.pauses = { before: 20_000, after: 0 }
    follower.acknowledge(3n)
    takesOver(successor)
    expect(check(leader, follower, successor)).toEqual([])
    forgetApart(follower)
    expect(check(leader, follower, successor)).toContainEqual(expect.stringMatching(/^S6: /))
  })

  test('does not seem to act when it is dead', () => {
    const { leader, follower } = fleet()
    renews(leader, follower)
    seesDeath(follower, leader)
    leader.pauses = { before: 2000, after: 0 }
    leader.acknowledge(3n)
    expect(check(leader, follower)).toEqual([])
    forgetApart(leader)
    expect(check(leader, follower)).toContainEqual(expect.stringMatching(/^D1: /))
  })
})

describe('A replica that acts', () => {
  test('beside another one is found by the clock of the machine, although no replica is wrong by its own clock', () => {
    const { leader, follower } = fleet()
    renews(leader, follower)
    leader.acknowledge(3n)
    follower.aheadMs = 14_000
    follower.now += 14_000
    takesOver(follower)
    leader.passTo(6000)
    expect(check(leader, follower)).toEqual([expect.stringMatching(/^S1: /)])
  })

  test.each([
    { where: 'the same machine', machine: 'test', findings: [expect.stringMatching(/^D1: /)] },
    { where: 'another machine', machine: 'other', findings: [] },
  ])('is not dead if $where has seen it die: only one clock can tell', ({ machine, findings }) => {
    const { leader, follower } = fleet(machine)
    renews(leader, follower)
    seesDeath(follower, leader)
    leader.passTo(2100)
    leader.acknowledge(3n)
    expect(check(leader, follower)).toEqual(findings)
  })
})
