import type { LeaseRecord } from '@tenure/core'
import { describe, expect, test } from 'vitest'
import { isAcquisition, lifeCodec, ownerOf } from '../src/locks/life/life-config-map.ts'
import { objectAt, type JsonObject } from '../src/json-object.ts'
import { record } from './support/lease-record.ts'

const codec = lifeCodec(() => ({ name: 'own', uid: 'u-own' }))
const names = { name: 'janitor', namespace: 'ops', labels: {}, annotations: {} }
const podOwner = (name: string, uid: string) => ({ apiVersion: 'v1', kind: 'Pod', name, uid })
const OWN = podOwner('own', 'u-own')
const OTHER = podOwner('other', 'u-other')
const LATER = '2026-01-02T04:00:00.000000Z'

/** A ConfigMap of another Pod that holds the lease. */
const held = (more: JsonObject = {}): JsonObject => {
  const body = codec.body({}, names, record)
  const metadata = objectAt(body, 'metadata')
  const annotations = { ...objectAt(metadata, 'annotations'), 'lock.tenure.dev/owner': 'u-other' }
  return { ...body, metadata: { ...metadata, annotations, ownerReferences: [OTHER], ...more } }
}

const written = (stored: JsonObject, change: Partial<LeaseRecord>) => {
  const metadata = objectAt(codec.body(stored, names, { ...record, ...change }), 'metadata')
  return { owners: metadata['ownerReferences'], recordOf: objectAt(metadata, 'annotations')['lock.tenure.dev/owner'] }
}

describe('a ConfigMap of a leader for life', () => {
  test('is created for the Pod of its holder', () => {
    expect([codec.resource, codec.title]).toEqual([{ group: '', version: 'v1', resource: 'configmaps' }, 'configmap'])
    expect(codec.body({}, names, record)).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'janitor', namespace: 'ops', ownerReferences: [OWN] },
    })
    expect(written({}, {}).recordOf).toBe('u-own')
    expect(codec.parse(codec.body({}, names, record))).toEqual(record)
  })

  test.each<[string, Partial<LeaseRecord>, object, string]>([
    ['an acquisition or a renewal', { renewTime: LATER }, OWN, 'u-own'],
    ['an announcement', { annotations: { 'tenure.dev/standby': '{}' } }, OTHER, 'u-other'],
    ['a release', { holderIdentity: '', renewTime: LATER }, OTHER, 'u-other'],
    ['a transfer', { renewTime: LATER, annotations: { 'tenure.dev/transfer': '{}' } }, OTHER, 'u-other'],
  ])('has this owner after %s', (_, change, owner, uid) => {
    expect(written(held(), change)).toEqual({ owners: [owner], recordOf: uid })
  })

  test('keeps an owner without a uid in a release', () => {
    const { uid: _, ...unnamed } = OTHER
    expect(written(held({ ownerReferences: [unnamed] }), { holderIdentity: '' })).toEqual({
      owners: [unnamed],
      recordOf: '',
    })
  })

  test('is free after a release, with any owner or none', () => {
    const released = codec.body(held(), names, { ...record, holderIdentity: '' })
    expect(codec.parse(released).holderIdentity).toBe('')
    const { ownerReferences: _, ...metadata } = objectAt(released, 'metadata')
    expect(codec.parse({ ...released, metadata }).holderIdentity).toBe('')
  })

  test('is held by the Pod that owns it, if its record is of another one or missing', () => {
    const byOwner = {
      holderIdentity: 'other',
      leaseDurationSeconds: undefined,
      acquireTime: 'then',
      renewTime: 'then',
      leaseTransitions: undefined,
      annotations: {},
    }
    const metadata = objectAt(held({ creationTimestamp: 'then' }), 'metadata')
    const { 'lock.tenure.dev/owner': owner, ...annotations } = objectAt(metadata, 'annotations')
    expect(owner).toBe('u-other')
    const { 'control-plane.alpha.kubernetes.io/leader': _, ...bare } = annotations
    const variants = [
      { ...annotations, 'lock.tenure.dev/owner': 'u-own' },
      annotations,
      { ...bare, 'lock.tenure.dev/owner': 'u-other' },
      {},
    ]
    for (const variant of variants)
      expect(codec.parse({ ...held(), metadata: { ...metadata, annotations: variant } })).toEqual(byOwner)
    // Client-go knows the one annotation, and not the other.
    const free = '{"holderIdentity":"","leaseDurationSeconds":15}'
    const ofClientGo = { ...metadata, annotations: { 'control-plane.alpha.kubernetes.io/leader': free } }
    expect(codec.parse({ ...held(), metadata: ofClientGo })).toEqual(byOwner)
  })

  test.each<[unknown, string]>([
    [[], 'none'],
    ['x', 'none'],
    [['x'], 'none'],
    [[OWN, OTHER], 'Pod own, Pod other'],
    [[{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'd', uid: 'u' }], 'Deployment d'],
    [[{ ...OWN, apiVersion: 'example.com/v1' }], 'example.com/v1 Pod own'],
    [[{ ...OWN, kind: 'ConfigMap' }], 'ConfigMap own'],
    [[{ ...OWN, uid: undefined }], 'Pod own'],
    [[{ ...OWN, name: 1 }], 'Pod undefined'],
  ])('with the owners %j is no lock', (ownerReferences, got) => {
    expect(() => ownerOf({ metadata: { name: 'janitor', namespace: 'ops', ownerReferences } })).toThrow(
      `Expected the configmap ops/janitor to have one ownerReference, to a Pod, got ${got}. It is no lock of a leader for life. ` +
        'Delete it, or choose another name',
    )
  })

  test('is acquired by a write with a holder, a new time, and no transfer', () => {
    expect(isAcquisition(record, { ...record, acquireTime: LATER })).toBe(true)
    expect(isAcquisition(record, { ...record, renewTime: LATER })).toBe(false)
    expect(isAcquisition(record, { ...record, acquireTime: LATER, holderIdentity: '' })).toBe(false)
    const annotations = { 'tenure.dev/transfer': '{}' }
    expect(isAcquisition(record, { ...record, acquireTime: LATER, annotations })).toBe(false)
  })
})
