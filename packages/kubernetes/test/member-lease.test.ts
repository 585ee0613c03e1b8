import { expect, test } from 'vitest'
import { explainGroup } from '../src/membership/explain-group.ts'
import {
  type MemberFacts,
  type MemberLeaseSource,
  memberLeaseBody,
  memberLeaseName,
  readMemberLease,
} from '../src/membership/member-lease.ts'
import type { JsonObject } from '../src/json-object.ts'

const NOW = Date.UTC(2026, 0, 2, 3, 4, 5)
const NAME = 'shop-ca978112ca1bbdcafac231b39a'

const source: MemberLeaseSource = {
  group: 'shop',
  namespace: 'ops',
  identity: 'a',
  durationMs: 15_000,
  labels: { tier: 'gold' },
  pod: { name: 'shop-0', uid: 'pod-uid' },
}

const facts: MemberFacts = {
  address: '10.0.0.1',
  version: '1.2',
  zone: 'eu-1a',
  process: 'p',
  notes: { color: 'blue' },
}

const readObject = (object: JsonObject) => readMemberLease({ kind: 'present', version: 7n, object })

const leaseWith = (more: { readonly metadata?: object; readonly spec?: object }): JsonObject => ({
  metadata: { name: 'one', uid: 'u', ...more.metadata },
  spec: { holderIdentity: 'a', leaseDurationSeconds: 15, ...more.spec },
})

test('the name of a Lease is its group and a hash of the identity, which no name could hold', () => {
  expect(memberLeaseName('shop', 'a')).toBe(NAME)
  expect(memberLeaseName('shop', 'A/?')).toMatch(/^shop-[0-9a-f]{26}$/)
})

test('a Lease that is created says who the member is, since when, and for how long', () => {
  const time = '2026-01-02T03:04:05.000000Z'
  expect(memberLeaseBody(source, facts, { now: NOW })).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name: NAME,
      namespace: 'ops',
      labels: { tier: 'gold', 'tenure.dev/member-of': 'shop' },
      annotations: { 'tenure.dev/member': JSON.stringify(facts) },
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'shop-0', uid: 'pod-uid' }],
    },
    spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime: time, acquireTime: time },
  })
  expect(memberLeaseBody({ ...source, pod: undefined }, facts, { now: NOW })['metadata']).not.toHaveProperty(
    'ownerReferences',
  )
})

test('a renewal keeps what others put into the Lease, and replaces what they changed of it', () => {
  const stored = {
    kind: 'x',
    status: { foreign: true },
    metadata: {
      uid: 'u',
      resourceVersion: '5',
      managedFields: [{}],
      labels: { tier: 'lead', 'by.hand': 'x' },
      annotations: { 'tenure.dev/member': 'x', note: 'y' },
    },
    spec: { holderIdentity: 'x', acquireTime: 'then', strategy: 'z' },
  }
  expect(memberLeaseBody({ ...source, pod: undefined }, facts, { stored, now: NOW })).toEqual({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    status: { foreign: true },
    metadata: {
      uid: 'u',
      resourceVersion: '5',
      name: NAME,
      namespace: 'ops',
      labels: { tier: 'gold', 'by.hand': 'x', 'tenure.dev/member-of': 'shop' },
      annotations: { 'tenure.dev/member': JSON.stringify(facts), note: 'y' },
    },
    spec: {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-02T03:04:05.000000Z',
      acquireTime: 'then',
      strategy: 'z',
    },
  })
})

test('what a member writes is what others read', () => {
  const body = memberLeaseBody(source, facts, { stored: { metadata: { uid: 'u' } }, now: NOW })
  expect(readObject(body)).toEqual({
    name: NAME,
    uid: 'u',
    resourceVersion: 7n,
    identity: 'a',
    durationMs: 15_000,
    labels: { tier: 'gold' },
    facts,
  })
})

test('a Lease that is absent, has no holder or is being deleted is nobody’s', () => {
  expect(readMemberLease({ kind: 'absent', version: 7n })).toBeUndefined()
  expect(readObject({ metadata: {} })).toBeUndefined()
  expect(readObject(leaseWith({ spec: { holderIdentity: '' } }))).toBeUndefined()
  expect(readObject(leaseWith({ spec: { holderIdentity: 1 } }))).toBeUndefined()
  expect(readObject(leaseWith({ metadata: { deletionTimestamp: '2026-01-02T03:04:05Z' } }))).toBeUndefined()
})

test('a Lease without name, uid, labels and facts has none', () => {
  expect(readObject({ spec: { holderIdentity: 'a' } })).toEqual({
    name: '',
    uid: '',
    resourceVersion: 7n,
    identity: 'a',
    durationMs: undefined,
    labels: {},
    facts: { notes: {} },
  })
})

test.each([
  [1, 1000],
  [3600, 3_600_000],
  [3601, 3_600_000],
  [0, undefined],
  [-5, undefined],
  [1.5, undefined],
  ['15', undefined],
])('a duration of %s seconds counts as %s ms: nobody can make a Lease immortal', (leaseDurationSeconds, durationMs) => {
  expect(readObject(leaseWith({ spec: { leaseDurationSeconds } }))?.durationMs).toBe(durationMs)
})

test.each([
  ['no JSON', '{"zone":', { notes: {} }],
  ['not an object', '"a"', { notes: {} }],
  ['of other types', '{"address":1,"version":[],"zone":{},"process":true,"notes":"x"}', { notes: {} }],
  ['of texts and others', '{"zone":"z","notes":{"a":"1","b":2,"c":null}}', { zone: 'z', notes: { a: '1' } }],
  ['of the greatest length', `{"zone":"${'z'.repeat(16_384 - 11)}"}`, { zone: 'z'.repeat(16_384 - 11), notes: {} }],
  ['longer than that', `{"zone":"${'z'.repeat(16_384 - 10)}"}`, { notes: {} }],
])('facts that are %s count as far as they can be read', (_, text, expected) => {
  const metadata = { annotations: { 'tenure.dev/member': text } }
  expect(readObject(leaseWith({ metadata }))?.facts).toEqual(expected)
})

test('labels that are no texts do not count', () => {
  expect(readObject(leaseWith({ metadata: { labels: { a: 'b', c: 1 } } }))?.labels).toEqual({ a: 'b' })
})

test('the explanation of a group says how many members it has, whose renewals are overdue, and why it sees nothing', () => {
  const member = (identity: string, state: 'living' | 'suspect') => ({
    identity,
    state,
    lease: identity,
    address: undefined,
    version: undefined,
    zone: undefined,
    labels: {},
    renewedAt: 0,
    notes: {},
  })
  const members = [member('a', 'living'), member('b', 'suspect'), member('c', 'suspect')]
  const seen = { group: 'shop', isStarted: true, isStopped: false, members, isCurrent: true, problem: undefined }
  const problem = new Error('no route')
  expect(explainGroup({ ...seen, problem, members: [member('a', 'living')] })).toBe(
    'It sees 1 members of the group shop.',
  )
  expect(explainGroup(seen)).toBe('It sees 3 members of the group shop; the renewals of b, c are overdue.')
  expect(explainGroup({ ...seen, members: [], isCurrent: false })).toBe(
    'It sees 0 members of the group shop. It cannot see or renew at present, so it drops nobody.',
  )
  expect(explainGroup({ ...seen, members: [], isCurrent: false, problem })).toBe(
    'It sees 0 members of the group shop. It cannot see or renew at present, so it drops nobody: no route.',
  )
  expect(explainGroup({ ...seen, isStarted: false })).toBe('It has not joined the group shop yet.')
  expect(explainGroup({ ...seen, isStopped: true })).toBe('It has left the group shop.')
})
