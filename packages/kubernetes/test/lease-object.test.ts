import type { LeaseRecord, PresentLease } from '@tenure/core'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { leaseBody, parseLease, updatedBody, type LockMetadata } from '../src/locks/lease/lease-object.ts'

const metadata = { name: 'janitor', namespace: 'ops', labels: {}, annotations: {} }

const record: LeaseRecord = {
  holderIdentity: 'replica-a',
  leaseDurationSeconds: 15,
  acquireTime: '2026-01-02T03:04:05.000001Z',
  renewTime: '2026-01-02T03:04:06.100000Z',
  leaseTransitions: 4,
  annotations: { 'tenure.dev/offer': 'of 7' },
}

const stored = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: {
    name: 'janitor',
    namespace: 'ops',
    uid: 'u-1',
    resourceVersion: '41',
    labels: { team: 'ops' },
    annotations: { 'tenure.dev/offer': 'of 7', 'tenure.dev/answer': 'b', 'example.com/note': 'keep' },
    ownerReferences: [{ kind: 'Pod', name: 'p' }],
    finalizers: ['example.com/hold'],
  },
  spec: { holderIdentity: 'x', strategy: 'OldestEmulationVersion', preferredHolder: 'y', someNewField: { deep: [1] } },
  status: { someNewPart: true },
}

const newLease = (own: LockMetadata, written: LeaseRecord) => leaseBody({}, own, written)
const updatedLease = (base: PresentLease, own: LockMetadata, written: LeaseRecord) =>
  updatedBody(leaseBody, base, own, written)

function parsed(object: unknown): PresentLease {
  const lease = parseLease(object)
  if (lease === undefined) throw new Error('Expected the lease to parse')
  return lease
}

describe('reading a lease', () => {
  test('takes the fields as they are stored', () => {
    const lease = parsed({
      ...newLease(metadata, record),
      metadata: { resourceVersion: '7', annotations: record.annotations },
    })
    expect(lease).toMatchObject({ kind: 'present', version: 7n, record, deleting: false })
  })

  test('takes only the annotations of Tenure', () => {
    expect(parsed(stored).record.annotations).toEqual({ 'tenure.dev/offer': 'of 7', 'tenure.dev/answer': 'b' })
  })

  test('takes fields of the wrong type for missing', () => {
    const spec = {
      holderIdentity: null,
      leaseDurationSeconds: '15',
      acquireTime: null,
      renewTime: 17,
      leaseTransitions: 1.5,
    }
    const annotations = { 'tenure.dev/offer': 5 }
    expect(parsed({ metadata: { resourceVersion: '7', annotations }, spec }).record).toEqual({
      holderIdentity: '',
      leaseDurationSeconds: undefined,
      acquireTime: undefined,
      renewTime: undefined,
      leaseTransitions: undefined,
      annotations: {},
    })
  })

  test('sees that a lease is being deleted', () => {
    const deleting = { resourceVersion: '7', deletionTimestamp: '2026-01-02T03:04:05Z' }
    expect(parsed({ metadata: deleting }).deleting).toBe(true)
  })

  test.each([undefined, '', 'abc', '0x10', '-1', '1.5', '01', ' 7', 7, null])(
    'refuses the resource version %j',
    (resourceVersion) => {
      expect(parseLease({ metadata: { resourceVersion } })).toBeUndefined()
    },
  )

  test('takes a resource version beyond the integers of a double', () => {
    expect(parsed({ metadata: { resourceVersion: '9007199254740993' } }).version).toBe(9007199254740993n)
  })

  test('never throws, whatever other clients or servers have stored', () => {
    const hostile = fc.record(
      {
        metadata: fc.oneof(
          fc.anything(),
          fc.record({
            resourceVersion: fc.oneof(fc.nat().map(String), fc.anything()),
            annotations: fc.oneof(
              fc.anything(),
              fc.dictionary(
                fc.string().map((key) => `tenure.dev/${key}`),
                fc.anything(),
              ),
            ),
            deletionTimestamp: fc.anything(),
          }),
        ),
        spec: fc.oneof(
          fc.anything(),
          fc.record({
            holderIdentity: fc.anything(),
            leaseDurationSeconds: fc.anything(),
            acquireTime: fc.anything(),
            renewTime: fc.anything(),
            leaseTransitions: fc.anything(),
          }),
        ),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.anything(), hostile, fc.jsonValue()), (object) => {
        const lease = parseLease(object)
        if (lease === undefined) return
        expect(lease.version).toBeTypeOf('bigint')
        expect(lease.record.holderIdentity).toBeTypeOf('string')
        for (const time of [lease.record.acquireTime, lease.record.renewTime]) {
          expect(['string', 'undefined']).toContain(typeof time)
        }
        for (const count of [lease.record.leaseDurationSeconds, lease.record.leaseTransitions]) {
          expect(count === undefined || Number.isSafeInteger(count)).toBe(true)
        }
        expect(Object.values(lease.record.annotations).every((value) => typeof value === 'string')).toBe(true)
        expect(updatedLease(lease, metadata, record)).toMatchObject({ spec: { holderIdentity: 'replica-a' } })
      }),
      { numRuns: 1000 },
    )
  })
})

describe('writing a lease', () => {
  test('keeps everything in the stored lease that Tenure does not know', () => {
    const body = updatedLease(parsed(stored), metadata, record)
    expect(body).toMatchObject({
      metadata: {
        uid: 'u-1',
        labels: { team: 'ops' },
        ownerReferences: [{ kind: 'Pod', name: 'p' }],
        finalizers: ['example.com/hold'],
      },
      spec: { strategy: 'OldestEmulationVersion', preferredHolder: 'y', someNewField: { deep: [1] } },
      status: { someNewPart: true },
    })
  })

  test('replaces all annotations of Tenure by those of the record, and no others', () => {
    const body = updatedLease(parsed(stored), metadata, { ...record, annotations: { 'tenure.dev/answer': 'c' } })
    expect(body?.['metadata']).toMatchObject({
      annotations: { 'example.com/note': 'keep', 'tenure.dev/answer': 'c' },
    })
    expect(JSON.stringify(body)).not.toContain('tenure.dev/offer')
  })

  test('sends the version of the base', () => {
    const body = updatedLease({ ...parsed(stored), version: 12n }, metadata, record)
    expect(body?.['metadata']).toMatchObject({ resourceVersion: '12' })
  })

  test('sends the times as the record has them', () => {
    expect(newLease(metadata, record)['spec']).toEqual({
      holderIdentity: 'replica-a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-02T03:04:05.000001Z',
      renewTime: '2026-01-02T03:04:06.100000Z',
      leaseTransitions: 4,
    })
  })

  test('leaves out what the record leaves out, also where it is stored', () => {
    const withTransitions = { ...stored, spec: { ...stored.spec, leaseTransitions: 9 } }
    const body = updatedLease(parsed(withTransitions), metadata, { ...record, leaseTransitions: undefined })
    expect(JSON.stringify(body)).not.toContain('leaseTransitions')
  })

  test('adds the labels and annotations of the lock', () => {
    const own = { ...metadata, labels: { app: 'janitor' }, annotations: { 'example.com/by': 'janitor' } }
    expect(updatedLease(parsed(stored), own, record)?.['metadata']).toMatchObject({
      labels: { team: 'ops', app: 'janitor' },
      annotations: { 'example.com/note': 'keep', 'example.com/by': 'janitor', 'tenure.dev/offer': 'of 7' },
    })
  })

  test('leaves the notes on who owns which field to the server', () => {
    const noted = { ...stored, metadata: { ...stored.metadata, managedFields: [{ manager: 'kubectl' }] } }
    expect(JSON.stringify(updatedLease(parsed(noted), metadata, record))).not.toContain('managedFields')
  })

  test('is not possible on a base that came from elsewhere', () => {
    const { native: _, ...foreign } = parsed(stored)
    expect(updatedLease(foreign, metadata, record)).toBeUndefined()
  })
})
