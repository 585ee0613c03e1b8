import { describe, expect, test } from 'vitest'
import { forLife } from '../../core/src/election/machine/config.ts'
import { CONFIG, lease } from '../../core/test/election/pure-elector.ts'
import type { PresentLease } from '../../core/src/lock/lock.ts'
import { check, checkRestored, TracedElector } from './support/traced-elector.ts'

const elector = (identity: string, machine?: string) => new TracedElector({ identity }, machine)

const free = (version: bigint) => lease({ version, holderIdentity: '', leaseDurationSeconds: 1 })

/** A leader that has sent a renewal of version 2, and a follower that has seen version 2. */
function renewing(machineOfFollower?: string) {
  const leader = elector('leader').lead()
  const follower = elector('follower', machineOfFollower)
  follower.follow(leader.stored(2n))
  leader.passTo(2000)
  follower.now = 2001
  return { leader, follower }
}

/** A leader whose term drains and that has offered the lease, and a follower that has sent an answer. */
function offering() {
  const leader = elector('leader').lead()
  const follower = elector('follower')
  follower.follow(leader.stored(2n))
  leader.now = 1000
  leader.send({ kind: 'step-down', reason: 'step-down', cooldownMs: 0 })
  leader.passTo(1025)
  leader.acknowledge(3n)
  follower.now = 1026
  follower.observe(leader.stored(3n))
  const answered = { ...leader.stored(4n), record: follower.lastWrite.write.record }
  return { leader, follower, answered }
}

describe('The trace of a write that was refused', () => {
  const found = 'store: version 3 has the record of a write that was refused'

  test('is unsound if its record is seen before the refusal', () => {
    const { leader, follower } = renewing()
    follower.observe(leader.stored(3n))
    leader.now = 2002
    leader.failWrite('conflict')
    expect(check(leader, follower)).toEqual([found])
    expect(checkRestored(leader, follower)).toEqual([])
  })

  test('is unsound if its record is seen after the refusal', () => {
    const { leader, follower } = renewing()
    leader.failWrite('conflict')
    follower.observe(leader.stored(3n))
    expect(check(leader, follower)).toEqual([found])
    expect(checkRestored(leader, follower)).toEqual([])
  })

  test.each(['before', 'after'])(
    'is sound if its record is seen %s an answer that leaves its outcome unknown',
    (when) => {
      const { leader, follower } = renewing()
      if (when === 'after') leader.failWrite('unknown-outcome')
      follower.observe(leader.stored(3n))
      leader.now = 2002
      if (when === 'before') leader.failWrite('unknown-outcome')
      expect(check(leader, follower)).toEqual([])
    },
  )

  test.each([
    { when: 'before', seenAt: 1027 },
    { when: 'after', seenAt: 1200 },
  ])('is unsound if it answered an offer, and its nonce is seen $when the refusal', ({ seenAt }) => {
    const { leader, follower, answered } = offering()
    leader.now = seenAt
    leader.observe(answered)
    follower.now = 1100
    follower.failWrite('conflict')
    expect(check(leader, follower)).toEqual(['store: version 4 has the record of a write that was refused'])
    expect(checkRestored(leader, follower)).toEqual([])
  })

  test('is sound if it answered an offer, and its nonce is seen after an answer that leaves its outcome unknown', () => {
    const { leader, follower, answered } = offering()
    follower.now = 1100
    follower.failWrite('unknown-outcome')
    leader.now = 1200
    leader.observe(answered)
    expect(check(leader, follower)).toEqual([])
  })

  test('is sound if it announced a standby: its record is that of the leader', () => {
    const leader = elector('leader').lead()
    const follower = new TracedElector({ identity: 'follower', announceAfterMs: 500 })
    follower.follow(leader.stored(2n))
    follower.passTo(500)
    expect(follower.lastWrite.write.purpose).toBe('announce')
    follower.failWrite('conflict')
    expect(check(leader, follower)).toEqual([])
  })

  test('is sound if it only checked a lease for life: its record is stored already', () => {
    const leader = new TracedElector(forLife({ ...CONFIG, missingLease: undefined })).lead()
    leader.passTo(2500)
    expect(leader.lines.at(-1)).toContain('"i":true')
    leader.failWrite('unreachable')
    expect(check(leader)).toEqual([])
  })

  test('is sound if the same record is sent once more, and then stored', () => {
    const twice = elector('twice')
    twice.follow(free(1n))
    twice.failWrite('conflict')
    twice.observe(free(2n))
    const [first, second] = twice.all('write').map(({ write }) => write.record)
    expect(second).toEqual(first)
    twice.acknowledge(3n)
    twice.as('leading')
    expect(check(twice)).toEqual([])
  })

  test('is sound if another replica with the same name sent the same record, which was stored', () => {
    const [winner, loser] = [elector('twin'), elector('twin')]
    for (const twin of [winner, loser]) twin.follow(free(1n))
    expect(loser.stored(2n)).toEqual(winner.stored(2n))
    winner.acknowledge(2n)
    loser.now = 1
    loser.failWrite('conflict')
    expect(check(winner, loser)).toEqual([])
  })
})

describe('The trace of a renewal of version 2 that makes version 4', () => {
  const found = 'store: version 4 replaced version 2, although version 3 is in between'

  /** Somebody else sees another version, before or after the leader learns that its renewal has made version 4. */
  function sees(version: bigint, when: string) {
    const { leader, follower } = renewing()
    if (when === 'before') follower.observe(lease({ version }))
    leader.now = 2002
    leader.acknowledge(4n)
    follower.now = 2003
    if (when === 'after') follower.observe(lease({ version }))
    return { found: check(leader, follower), foundRestored: checkRestored(leader, follower) }
  }

  test.each(['before', 'after'])('is unsound if version 3 is seen %s its answer', (when) => {
    expect(sees(3n, when)).toEqual({ found: [found], foundRestored: [] })
  })

  test.each(['before', 'after'])('is sound if version 5 is seen %s its answer', (when) => {
    expect(sees(5n, when)).toEqual({ found: [], foundRestored: [] })
  })
})

describe('The trace of a write that makes version 4', () => {
  /** Somebody sees version 5 at a time of its machine. The leader sends its renewal at 2000. */
  function seesFive(at: number, machine?: string) {
    const leader = elector('leader').lead()
    const follower = elector('follower', machine)
    follower.follow(leader.stored(2n))
    follower.now = at
    follower.observe(lease({ version: 5n }))
    leader.passTo(2000)
    const { now } = leader
    leader.now = 2002
    leader.acknowledge(4n)
    return { found: check(leader, follower), foundRestored: checkRestored(leader, follower), now }
  }

  test('is unsound if version 5 was seen on the same machine before it was sent', () => {
    const found = ['store: version 4 was sent after version 5 had been seen']
    expect(seesFive(1000)).toEqual({ found, foundRestored: [], now: 2000 })
  })

  test('is sound if version 5 was seen when it was sent, or later', () => {
    expect(seesFive(2000).found).toEqual([])
    expect(seesFive(2001).found).toEqual([])
  })

  test('is sound if version 5 was seen on another machine: only one clock can tell', () => {
    expect(seesFive(1000, 'other').found).toEqual([])
  })
})

describe('The trace of two replicas that see one version', () => {
  const seen = lease({ version: 5n })

  function see(first: PresentLease, second: PresentLease) {
    const [one, other] = [elector('one'), elector('other-one')]
    one.follow(first)
    other.follow(second)
    return { found: check(one, other), foundRestored: checkRestored(one, other) }
  }

  test('is sound if they see the same', () => {
    expect(see({ ...seen, epoch: 3n, deleting: true }, { ...seen, epoch: 3n, deleting: true }).found).toEqual([])
  })

  test.each([
    { what: 'epochs', other: { epoch: 3n } },
    { what: 'deletions', other: { deleting: true } },
  ])('is unsound if they see different $what', ({ other }) => {
    const found = [expect.stringMatching(/^store: version 5 is of other .* and of other /)]
    expect(see(seen, { ...seen, ...other })).toEqual({ found, foundRestored: [] })
    expect(see({ ...seen, ...other }, seen)).toEqual({ found, foundRestored: [] })
  })
})
