import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkRules } from './fired-alerts.ts'
import { fired, MINUTES, replica, rising, RULES, type Values } from './rule-series.ts'

/** A leader and a follower, with what is not as it should be of each. */
interface Situation {
  readonly leader?: Readonly<Record<string, Values>>
  readonly follower?: Readonly<Record<string, Values>>
}

const firedIn = ({ leader = {}, follower = {} }: Situation): Promise<readonly string[]> =>
  fired('tenure.rules.yaml', [...replica('a', leader), ...replica('b', follower, false)])

/** As the histories of a metric that begins to be wrong after five minutes. */
const from5 = (...values: Values): Values => [[0, MINUTES(5)], ...values]

const REMAINING = 'tenure_lease_remaining_seconds{name}'
const UNREACHABLE = 'tenure_lease_requests_failing{name,reason="unreachable"}'
const REFUSED = 'tenure_lease_requests_failing{name,reason="unauthenticated"}'
const SUPERSEDED = 'tenure_terms_total{name,end="superseded"}'
const REFUSALS = 'tenure_gate_refusals_total{controller="sweeper",verb="PUT"}'
const CLOCK = 'tenure_clock_seconds{name}'
const STUCK = 'tenure_stuck_tasks{name,controller="sweeper"}'

describe('of a leader and a follower, the rules of Tenure', () => {
  test.each<readonly [string, Situation]>([
    [
      'TenureNoLeader',
      {
        leader: {
          [REMAINING]: [
            [12, MINUTES(5)],
            [0, MINUTES(25)],
          ],
        },
      },
    ],
    ['TenureTwoLeaders', { follower: { [REMAINING]: from5([12, MINUTES(25)]) } }],
    ['TenureFlapping', { leader: { [SUPERSEDED]: from5([1, 4], [2, 4], [3, 4], [4, MINUTES(22)]) } }],
    [
      'TenureWedged',
      {
        leader: {
          [STUCK]: [
            ['_', MINUTES(5)],
            [2, MINUTES(25)],
          ],
        },
      },
    ],
    ['TenureDrainSlow', { leader: { 'tenure_draining_seconds{name}': from5([10, 1], [16, 1], [0, MINUTES(24)]) } }],
    [
      'TenureRenewMargin',
      {
        leader: {
          [REMAINING]: [
            [12, MINUTES(5)],
            [7, 1],
            [12, 1],
            [8, 1],
            [12, 1],
            [6, 1],
            [12, MINUTES(20)],
          ],
        },
      },
    ],
    [
      'TenureGateRefusals',
      {
        follower: {
          [REFUSALS]: [
            ['_', MINUTES(5)],
            [12, MINUTES(25)],
          ],
        },
      },
    ],
    ['TenureGateRefusals', { follower: { [REFUSALS]: from5([12, MINUTES(25)]) } }],
    ['TenureZombieFollower', { follower: { [UNREACHABLE]: from5([1, MINUTES(3)], [0, MINUTES(22)]) } }],
    ['TenureClockRate', { follower: { [CLOCK]: rising(13.5) } }],
    ['TenureStoreWentBack', { leader: { 'tenure_store_restores_total{}': from5([1, MINUTES(25)]) } }],
    ['TenureCredentialsRefused', { leader: { [REFUSED]: from5([1, MINUTES(3)], [0, MINUTES(22)]) } }],
    ['TenureCredentialsRefused', { follower: { [REFUSED]: from5([1, MINUTES(3)], [0, MINUTES(22)]) } }],
  ])('fire %s alone in its situation: %#', async (alert, situation) => {
    expect(await firedIn(situation)).toEqual([alert])
  })

  test.each<readonly [string, Situation]>([
    ['all is well', {}],
    [
      'nobody leads for less than two lease durations',
      {
        leader: {
          [REMAINING]: [
            [12, MINUTES(5)],
            [0, 2],
            [12, MINUTES(24)],
          ],
        },
      },
    ],
    ['a scrape shows the former and the next leader', { follower: { [REMAINING]: from5([12, 1], [0, MINUTES(24)]) } }],
    ['three terms were lost', { leader: { [SUPERSEDED]: from5([1, 4], [2, 4], [3, MINUTES(23)]) } }],
    [
      'three terms were lost, and later another',
      {
        leader: {
          [SUPERSEDED]: [
            [0, 4],
            [3, MINUTES(20)],
            [4, MINUTES(9)],
          ],
        },
      },
    ],
    [
      'a leader was shut down ten times',
      { leader: { 'tenure_terms_total{name,end="shutdown"}': from5([10, MINUTES(25)]) } },
    ],
    [
      'a drain takes less than a lease duration',
      { leader: { 'tenure_draining_seconds{name}': from5([14, 1], [0, MINUTES(24)]) } },
    ],
    [
      'one renewal failed, and the term went on',
      {
        leader: {
          [REMAINING]: [
            [12, MINUTES(5)],
            [7, 1],
            [12, MINUTES(24)],
          ],
        },
      },
    ],
    ['ten writes were refused', { follower: { [REFUSALS]: from5([3, 4], [9, MINUTES(24)]) } }],
    [
      'a follower could not reach the API server for half a minute',
      { follower: { [UNREACHABLE]: from5([1, 2], [0, MINUTES(24)]) } },
    ],
    ['a token was refused once, and read again', { leader: { [REFUSED]: from5([1, 1], [0, MINUTES(24)]) } }],
    ['the rates of two clocks differ by 4 %', { follower: { [CLOCK]: rising(14.4) } }],
    [
      'a container restarted, so that its clock begins again',
      { follower: { [CLOCK]: [...rising(15, MINUTES(10)), ['stale', 2], ...rising(15, MINUTES(20))] } },
    ],
    [
      'a replica started a minute ago',
      {
        follower: {
          [CLOCK]: [
            ['_', MINUTES(29)],
            [3, 1],
            [90, 1],
            [95, 1],
          ],
        },
      },
    ],
  ])('do not fire when %s', async (_case, situation) => {
    expect(await firedIn(situation)).toEqual([])
  })

  test('fire only TenureWedged when a drain is wedged for longer than a lease duration', async () => {
    const leader = {
      [STUCK]: [
        ['_', MINUTES(5)],
        [1, MINUTES(25)],
      ],
      'tenure_draining_seconds{name}': from5(...rising(15, MINUTES(25))),
    } satisfies Record<string, Values>
    expect(await firedIn({ leader })).toEqual(['TenureWedged'])
  })

  test('fire only TenureNoLeader when no replica reaches the API server', async () => {
    const cut = { [REMAINING]: from5([0, MINUTES(25)]), [UNREACHABLE]: from5([1, MINUTES(25)]) }
    expect(await firedIn({ leader: cut, follower: cut })).toEqual(['TenureNoLeader'])
  })

  test('do not fire in a rollout that replaces every replica', async () => {
    const pods = Array.from({ length: 6 }, (_, index) => {
      const [startsAt, endsAt] = [2 * index, 2 * index + 5]
      const life = (values: Values): Values => [['_', startsAt], ...values, ['stale', 1]]
      const length = endsAt - startsAt
      return replica(`pod-${index}`, {
        [REMAINING]: life([
          [index === 0 ? 12 : 0, length - 2],
          [12, 2],
        ]),
        'tenure_terms_total{name,end="shutdown"}': life([
          [0, length - 1],
          [1, 1],
        ]),
        'tenure_draining_seconds{name}': life([
          [0, length - 1],
          [4, 1],
        ]),
        'tenure_terms_total{name,end="superseded"}': life([[0, length]]),
        'tenure_lease_duration_seconds{name}': life([[15, length]]),
        [REFUSALS]: life([[0, length]]),
        [REFUSED]: life([[0, length]]),
        [UNREACHABLE]: life([[0, length]]),
        [CLOCK]: life(rising(15, length)),
        'tenure_store_restores_total{}': life([[0, length]]),
      })
    })
    expect(await fired('tenure.rules.yaml', pods.flat())).toEqual([])
  })
})

test.each(['tenure.rules.yaml', 'leases.rules.yaml'])('promtool finds nothing wrong with %s', async (file) => {
  await expect(checkRules(join(RULES, file))).resolves.toBeUndefined()
})
