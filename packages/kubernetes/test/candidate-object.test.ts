import { describe, expect, test } from 'vitest'
import {
  candidateBody,
  isBetter,
  isEdited,
  isPinged,
  laterOf,
  readCandidate,
  readCandidates,
  type StoredCandidate,
} from '../src/coordinated/candidate-object.ts'
import { serverElects } from '../src/coordinated/coordination-probe.ts'
import { isTied, Ties } from '../src/coordinated/ties.ts'
import type { LeaseClient } from '../src/locks/lease/lease-client.ts'
import { ScriptedConnection } from './support/scripted-connection.ts'

const facts = { binaryVersion: '1.2.0', emulationVersion: '1.1.0' }

const candidate = (name: string, more: Partial<StoredCandidate> = {}): StoredCandidate => ({
  name,
  uid: `uid of ${name}`,
  resourceVersion: '7',
  createdAt: '2026-01-01T00:00:00Z',
  leaseName: 'janitor',
  strategy: 'OldestEmulationVersion',
  pingTime: undefined,
  renewTime: '2026-01-01T00:00:00.000000Z',
  ...facts,
  ...more,
})

describe('a candidate', () => {
  test('is created with its versions, a time, and its Pod if that is known', () => {
    const body = {
      apiVersion: 'coordination.k8s.io/v1beta1',
      kind: 'LeaseCandidate',
      metadata: { name: 'a' },
      spec: { leaseName: 'janitor', ...facts, strategy: 'OldestEmulationVersion', renewTime: 'now' },
    }
    const source = { name: 'a', leaseName: 'janitor', facts }
    expect(candidateBody(source, 'now', undefined)).toEqual(body)
    const ownerReferences = [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }]
    expect(candidateBody(source, 'now', { name: 'p', uid: 'u' })).toEqual({
      ...body,
      metadata: { name: 'a', ownerReferences },
    })
  })

  test('is read as it is stored; what has another type is missing', () => {
    const stored = {
      metadata: { name: 'a', uid: 'u', resourceVersion: '7', creationTimestamp: 'then' },
      spec: { leaseName: 'janitor', ...facts, strategy: 's', pingTime: 'p', renewTime: 'r' },
    }
    const read = {
      ...candidate('a', { uid: 'u', createdAt: 'then', strategy: 's', pingTime: 'p', renewTime: 'r' }),
    }
    expect(readCandidate(stored)).toEqual(read)
    const nothing = { name: '', uid: '', resourceVersion: '', createdAt: '' }
    expect(readCandidate({ metadata: { name: 1 }, spec: 'x' })).toEqual(nothing)
    expect(readCandidates({ items: [stored, 'x'] })).toEqual([read])
    expect([readCandidates('x'), readCandidates({ items: 'x' })]).toEqual([[], []])
  })

  test.each([
    ['the same', {}, false],
    ['another lease', { leaseName: 'x' }, true],
    ['another binary version', { binaryVersion: 'x' }, true],
    ['another emulation version', { emulationVersion: 'x' }, true],
    ['another strategy', { strategy: undefined }, true],
  ])('is edited if it does not say what its replica says: %s', (_, change, is) => {
    expect(isEdited(candidate('a', change), { leaseName: 'janitor', facts })).toBe(is)
  })

  test.each([
    ['1.0.0', '1.2.0', false],
    ['1.2.0', '1.0.0', true],
    ['1.1.0', '1.2.0', false],
    ['1.1.0', '1.3.0', true],
    ['1.1.0', '1.1.0', false],
    ['x', '1.3.0', false],
    ['1.2.0', 'x', false],
  ])('with emulation version %s and binary version %s is preferred less: %s', (emulationVersion, binaryVersion, is) => {
    expect(isBetter(facts, candidate('a', { emulationVersion, binaryVersion }))).toBe(is)
  })

  test('has an open ping until it renews, at the time of the ping or later', () => {
    expect(isPinged(candidate('a'))).toBe(false)
    expect(isPinged(candidate('a', { pingTime: '5', renewTime: '4' }))).toBe(true)
    expect(isPinged(candidate('a', { pingTime: '5', renewTime: '5' }))).toBe(false)
    expect(isPinged(candidate('a', { pingTime: '5', renewTime: undefined }))).toBe(true)
    expect([laterOf('4', '5'), laterOf('6', '5'), laterOf('6')]).toEqual(['5', '6', '6'])
  })
})

describe('candidates of one second', () => {
  const [a, b] = [candidate('a'), candidate('b')]

  test.each<[string, Partial<StoredCandidate>]>([
    ['another second', { createdAt: '2026-01-01T00:00:01Z' }],
    ['another binary version', { binaryVersion: '1.3.0' }],
    ['another emulation version', { emulationVersion: '1.0.0' }],
    ['the same name', { name: 'a' }],
  ])('are tied, but for one of %s', (_, change) => {
    expect(isTied(a, b)).toBe(true)
    expect(isTied(a, { ...b, ...change })).toBe(false)
  })

  test.each([
    [a, 'x', 'stays'],
    [b, 'x', 'makes-way'],
    [b, 'b', 'stays'],
    [a, 'b', 'makes-way'],
    [a, 'a', 'stays'],
    [b, 'a', 'makes-way'],
  ])('make way by their names, and all for the holder: %o under %s', (own, holder, expected) => {
    expect(new Ties().look(own, [a, b], holder)).toBe(expected)
  })

  test('make way at the second look, if the other one stays', () => {
    const ties = new Ties()
    expect(ties.look(a, [], 'x')).toBe('none')
    expect(ties.look(a, [b], 'x')).toBe('stays')
    expect(ties.look(a, [b], 'x')).toBe('makes-way')
    expect(ties.look(a, [], 'x')).toBe('none')
    expect(ties.look(a, [b], 'x')).toBe('stays')
    expect(ties.look(a, [candidate('c')], 'x')).toBe('stays')
  })

  test('make way for one of several', () => {
    const c = candidate('c')
    expect(new Ties().look(b, [a, c], 'x')).toBe('makes-way')
    const ties = new Ties()
    expect(ties.look(a, [b], 'x')).toBe('stays')
    expect(ties.look(a, [b, c], 'x')).toBe('makes-way')
  })
})

test.each([
  [{ spec: { strategy: 'OldestEmulationVersion' } }, true],
  [{ spec: { strategy: 'x' } }, false],
  [{ spec: {} }, false],
  ['x', false],
])('a server that elects keeps the strategy of a Lease that it would create: %j', async (answer, expected) => {
  const transport = new ScriptedConnection()
  transport.onSend = () => answer
  const { signal } = new AbortController()
  expect(await serverElects({ transport } as unknown as LeaseClient, 'ops', signal)).toBe(expected)
  expect(transport.sent).toEqual([
    {
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/ops/leases',
      query: { dryRun: 'All' },
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { generateName: 'tenure-probe-' },
        spec: { strategy: 'OldestEmulationVersion' },
      },
      target: { verb: 'create', group: 'coordination.k8s.io', resource: 'leases', namespace: 'ops', name: '' },
      signal,
    },
  ])
})
