import { describe, expect, test } from 'vitest'
import { decide, type Situation, URGENCIES } from '../../src/endpoints/decide.ts'
import type { SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'

function entry(address: string, conditions: Partial<SliceEndpoint> = {}): SliceEndpoint {
  return {
    address,
    ready: true,
    serving: true,
    terminating: false,
    nodeName: undefined,
    zone: undefined,
    ...conditions,
  }
}

interface Case {
  readonly mode?: Situation['mode']
  /** Whether this replica, `.1`, wants to be in the slice. */
  readonly self?: SliceEndpoint | 'in' | 'out'
  readonly selfAddress?: string
  readonly others?: readonly string[]
  readonly gone?: readonly string[]
  readonly doubtful?: readonly string[]
  readonly isCurrent?: boolean
  readonly count?: number
  readonly slice?: readonly string[]
}

const SELF = '10.0.0.1'

function situationOf({
  mode = 'lease',
  self = 'in',
  selfAddress = SELF,
  count = 3,
  isCurrent = true,
  ...rest
}: Case): Situation {
  const own = self === 'in' ? entry(selfAddress) : self === 'out' ? undefined : self
  const { others = [], gone = [], doubtful = [], slice = [] } = rest
  return {
    mode,
    selfAddress,
    count,
    isCurrent,
    self: own,
    gone: new Set(gone),
    doubtful: new Set(doubtful),
    others: others.map((address) => entry(address)),
    slice: slice.map((address) => entry(address)),
  }
}

/** The addresses after each urgency: own, gone, repair. */
function addresses(given: Case): string[][] {
  return URGENCIES.map((urgency) => decide(situationOf(given), urgency).entries.map(({ address }) => address))
}

/** The addresses of so many other replicas. */
const strangers = (length: number): string[] =>
  Array.from({ length }, (_, index) => `10.1.${index >> 8}.${index & 255}`)

const [A, B, C, D] = [SELF, '10.0.0.2', '10.0.0.3', '10.0.0.4']

describe('mode lease', () => {
  test.each<[string, Case, [own: string[], gone: string[], repair: string[]]]>([
    ['the first replica enters an empty slice', {}, [[A], [A], [A]]],
    [
      'a replica adds itself beside the others',
      { others: [B], slice: [B] },
      [
        [A, B],
        [A, B],
        [A, B],
      ],
    ],
    [
      'a replica that is in changes nothing',
      { others: [B], slice: [A, B] },
      [
        [A, B],
        [A, B],
        [A, B],
      ],
    ],
    [
      'a replica that is not ready takes out its own entry',
      { self: 'out', others: [B], slice: [A, B] },
      [[B], [B], [B]],
    ],
    [
      'a member that is gone goes, though not with the own entry',
      { others: [B], gone: [C], slice: [B, C] },
      [
        [A, B, C],
        [A, B],
        [A, B],
      ],
    ],
    [
      'an address of a gone member that another one has stays',
      { others: [B, C], gone: [C], slice: [A, B, C] },
      [
        [A, B, C],
        [A, B, C],
        [A, B, C],
      ],
    ],
    ['an entry that nobody stands for goes late', { slice: [A, D] }, [[A, D], [A, D], [A]]],
    [
      'a member without an entry is not added before it renews',
      { others: [B], doubtful: [B], slice: [A] },
      [[A], [A], [A]],
    ],
    [
      'a member with an entry keeps it until it renews',
      { others: [B], doubtful: [B], slice: [A, B] },
      [
        [A, B],
        [A, B],
        [A, B],
      ],
    ],
    ['a member without an entry is added late', { others: [B], slice: [A] }, [[A], [A], [A, B]]],
    [
      'without a current view nothing unknown goes',
      { isCurrent: false, slice: [A, D] },
      [
        [A, D],
        [A, D],
        [A, D],
      ],
    ],
    ['without a current view the gone go', { isCurrent: false, gone: [D], slice: [A, D] }, [[A, D], [A], [A]]],
    ['the last one empties the slice', { self: 'out', slice: [A] }, [[], [], []]],
    [
      'the last entry stays while a member is there without one',
      { self: 'out', others: [B], slice: [A] },
      [[B], [B], [B]],
    ],
    [
      'the last entry does not stay for a member that has not renewed yet',
      { self: 'out', others: [B], doubtful: [B], slice: [A] },
      [[], [], []],
    ],
    [
      'the last entry does not stay for another member with the address of this replica',
      { self: 'out', others: [A], slice: [A] },
      [[], [], []],
    ],
    [
      'dead entries of a killed fleet go, but not the own one',
      { gone: [B, C], slice: [A, B, C] },
      [[A, B, C], [A], [A]],
    ],
  ])('%s', (_, given, expected) => {
    expect(addresses(given)).toEqual(expected)
  })

  test('the conditions of others are settled as gone, the own ones at once', () => {
    const draining = entry(A, { ready: false, terminating: true })
    const given = { ...situationOf({ self: draining, slice: [A, B] }), others: [entry(B, { ready: false })] }
    expect(decide(given, 'own').entries).toEqual([draining, entry(B)])
    expect(decide(given, 'gone').entries).toEqual([draining, entry(B, { ready: false })])
  })

  test('the 1,001st member is refused, and those that are in stay', () => {
    const others = strangers(1000)
    const { entries, refusal } = decide(situationOf({ others, slice: others }), 'repair')
    expect(entries).toHaveLength(1000)
    expect(entries.map(({ address }) => address)).not.toContain(A)
    expect(refusal).toBe('The slice is full: the API server takes 1000 endpoints in an EndpointSlice')
  })

  test('the 1,000th member has a place', () => {
    const others = strangers(999)
    const { entries, refusal } = decide(situationOf({ others, slice: others }), 'own')
    expect([entries.length, refusal]).toEqual([1000, undefined])
  })

  test('a replica keeps its place in a full slice, though an earlier process with its address is gone', () => {
    const others = strangers(999)
    const { entries, refusal } = decide(
      situationOf({ others: [...others, D], gone: [A], slice: [...others, A] }),
      'repair',
    )
    expect(entries.map(({ address }) => address)).toEqual([A, ...others].toSorted())
    expect(refusal).toBeUndefined()
  })

  test('nobody adds the 1,001st member', () => {
    const others = strangers(1001)
    expect(decide(situationOf({ self: 'out', others, slice: [A] }), 'own').entries).toHaveLength(1000)
    const { entries } = decide(situationOf({ self: 'out', others, slice: others.slice(0, 1000) }), 'repair')
    expect(entries).toHaveLength(1000)
  })
})

test('the last place goes to a member that has none, not to another one with the address of this replica', () => {
  const others = strangers(999)
  const { entries, refusal } = decide(situationOf({ others: [...others, A, D], slice: others }), 'repair')
  expect(entries.map(({ address }) => address)).toEqual([D, ...others].toSorted())
  expect(refusal).toContain('The slice is full')
})

describe('mode master-count', () => {
  const mode = 'master-count'

  test.each<[string, Case, string[]]>([
    ['a dead entry stays while there is room', { mode, gone: [C], slice: [A, C] }, [A, C]],
    [
      'a dead entry goes for a living replica, not the one after its own',
      { mode, count: 2, others: [B], gone: [C], slice: [B, C] },
      [A, B],
    ],
    [
      'of several dead entries the one after the own goes first, around the end',
      { mode, selfAddress: C, count: 3, gone: [A, B, D], slice: [A, B, D] },
      [A, B, C],
    ],
    ['a stopping replica removes only itself', { mode, self: 'out', gone: [B], slice: [A, B] }, [B]],
    ['a stranger stays while there is room', { mode, slice: [A, D] }, [A, D]],
  ])('%s', (_, given, expected) => {
    expect(addresses(given).at(-1)).toEqual(expected)
  })

  test('more living replicas than the count are refused, and nobody loses its entry', () => {
    const { entries, refusal } = decide(situationOf({ mode, count: 2, others: [B, C], slice: [B, C] }), 'repair')
    expect(entries.map(({ address }) => address)).toEqual([B, C])
    expect(refusal).toContain('`count` is 2, but 3 replicas are there')
  })

  test('nobody is dropped while it is not known who is dead', () => {
    const { entries, refusal } = decide(situationOf({ mode, count: 1, isCurrent: false, slice: [B] }), 'repair')
    expect(entries.map(({ address }) => address)).toEqual([B])
    expect(refusal).toContain('not known yet')
  })
})

describe('mode leader', () => {
  const mode = 'leader'

  test.each<[string, Case, string[]]>([
    ['the leader replaces all other entries', { mode, slice: [B, C] }, [A]],
    ['a follower removes its own entry only', { mode, self: 'out', slice: [A, B] }, [B]],
    ['a follower leaves the leader in', { mode, self: 'out', slice: [B] }, [B]],
  ])('%s', (_, given, expected) => {
    for (const result of addresses(given)) expect(result).toEqual(expected)
  })
})

/** The cases of `instancecount_test.go` and `lease_test.go` in `pkg/controlplane/reconcilers`: what becomes of the addresses. */
describe('the cases of kube-apiserver', () => {
  const MASTERS = ['1.2.3.4', '4.3.2.1', '4.3.2.2', '4.3.2.3', '4.3.2.4']

  test.each<[string, Case, string[]]>([
    ['no existing endpoints', { selfAddress: '1.2.3.4', count: 1 }, ['1.2.3.4']],
    ['existing endpoints satisfy', { selfAddress: '1.2.3.4', count: 1, slice: ['1.2.3.4'] }, ['1.2.3.4']],
    [
      'existing endpoints satisfy but too many',
      { selfAddress: '1.2.3.4', count: 1, slice: ['1.2.3.4', '4.3.2.1'] },
      ['1.2.3.4'],
    ],
    [
      'existing endpoints satisfy but too many + extra masters',
      { selfAddress: '1.2.3.4', count: 4, slice: MASTERS },
      ['1.2.3.4', '4.3.2.2', '4.3.2.3', '4.3.2.4'],
    ],
    [
      'existing endpoints satisfy but too many + extra masters + delete first',
      { selfAddress: '4.3.2.4', count: 4, slice: MASTERS },
      ['4.3.2.1', '4.3.2.2', '4.3.2.3', '4.3.2.4'],
    ],
    [
      'existing endpoints satisfy and endpoint addresses length less than master count',
      { selfAddress: '4.3.2.2', count: 4, slice: ['4.3.2.1', '4.3.2.2'] },
      ['4.3.2.1', '4.3.2.2'],
    ],
    [
      'existing endpoints current IP missing and address length less than master count',
      { selfAddress: '4.3.2.2', count: 4, slice: ['4.3.2.1'] },
      ['4.3.2.1', '4.3.2.2'],
    ],
    ['existing endpoints wrong IP', { selfAddress: '1.2.3.4', count: 1, slice: ['4.3.2.1'] }, ['1.2.3.4']],
  ])('master-count: %s', (_, given, expected) => {
    expect(addresses({ mode: 'master-count', ...given }).at(-1)).toEqual(expected)
  })

  test.each<[string, Case, string[]]>([
    ['no existing endpoints', { selfAddress: '1.2.3.4' }, ['1.2.3.4']],
    ['existing endpoints satisfy', { selfAddress: '1.2.3.4', slice: ['1.2.3.4'] }, ['1.2.3.4']],
    ['existing endpoints satisfy but too many', { selfAddress: '1.2.3.4', slice: ['1.2.3.4', '4.3.2.1'] }, ['1.2.3.4']],
    [
      'existing endpoints satisfy but too many + extra masters',
      { selfAddress: '1.2.3.4', others: ['4.3.2.2', '4.3.2.3', '4.3.2.4'], slice: MASTERS },
      ['1.2.3.4', '4.3.2.2', '4.3.2.3', '4.3.2.4'],
    ],
    [
      'existing endpoints satisfy but too many + extra masters + delete first',
      { selfAddress: '4.3.2.4', others: ['4.3.2.1', '4.3.2.2', '4.3.2.3'], slice: MASTERS },
      ['4.3.2.1', '4.3.2.2', '4.3.2.3', '4.3.2.4'],
    ],
    [
      'existing endpoints current IP missing',
      { selfAddress: '4.3.2.2', others: ['4.3.2.1'], slice: ['4.3.2.1'] },
      ['4.3.2.1', '4.3.2.2'],
    ],
    ['existing endpoints wrong IP', { selfAddress: '1.2.3.4', slice: ['4.3.2.1'] }, ['1.2.3.4']],
  ])('lease: %s', (_, given, expected) => {
    expect(addresses(given).at(-1)).toEqual(expected)
  })
})
