import { describe, expect, test } from 'vitest'
import {
  readAnswer,
  readNote,
  readOffer,
  readProcessRef,
  readTransferNonce,
  withAnswer,
  withNote,
  withOffer,
  withoutNotes,
  withProcessRef,
  withTransferNonce,
} from '../../src/election/rules/transfer-notes.ts'
import type { LeaseRecord } from '../../src/lock/lease-record.ts'
import { lease } from './pure-elector.ts'

const HELD: LeaseRecord = lease({ version: 1n }).record
const ANSWER = { identity: 'next', nonce: 'n1' }

type Read = (record: LeaseRecord) => unknown

/** Each note: its key, how it is read, and a record that has it. */
const NOTES: Readonly<Record<string, readonly [key: string, read: Read, noted: LeaseRecord]>> = {
  offer: ['transfer-offer', readOffer, withOffer(HELD, { to: 'next' })],
  answer: ['transfer-answer', readAnswer, withAnswer(HELD, ANSWER)],
  nonce: ['transfer', readTransferNonce, withTransferNonce(HELD, 'n1')],
  process: ['holder-process', readProcessRef, withProcessRef(HELD, 'pod')],
}

/** The record with a note of this content, bound to its term. */
function stating(key: string, content: Readonly<Record<string, unknown>>): LeaseRecord {
  return withNote(HELD, `tenure.dev/${key}`, content)
}

describe.each(Object.entries(NOTES))('The %s in a lease', (_, [key, read, noted]) => {
  test('is read from the annotation of its own key, which no other annotation changes', () => {
    expect(read(noted)).toBeDefined()
    expect(Object.keys(noted.annotations)).toEqual([`tenure.dev/${key}`])
    const among = { ...noted, annotations: { other: 'kept', ...noted.annotations } }
    expect(read(among)).toEqual(read(noted))
    expect(withoutNotes(among)).toEqual({ ...HELD, annotations: { other: 'kept' } })
  })

  test('counts for the term that it names and for no other', () => {
    expect(read({ ...noted, holderIdentity: 'third' })).toBeUndefined()
    expect(read({ ...noted, acquireTime: '2026-01-01T11:30:00.000000Z' })).toBeUndefined()
    expect(read({ ...noted, renewTime: '2026-01-01T11:30:00.000000Z', leaseTransitions: 9 })).toBeDefined()
  })

  test('does not count where the record names no term, although the note names none either', () => {
    const text = (note: object) => ({ [`tenure.dev/${key}`]: JSON.stringify({ ...contentOf(noted), ...note }) })
    const free = { ...HELD, holderIdentity: '', annotations: text({ holder: '' }) }
    expect(read(free)).toBeUndefined()
    const timeless = { ...HELD, acquireTime: undefined, annotations: text({ of: undefined }) }
    expect(read(timeless)).toBeUndefined()
  })

  test.each(['', '{', 'null', '7', 'true', '"text"', '[]'])('is none where the annotation says %j', (text) => {
    expect(read({ ...HELD, annotations: { [`tenure.dev/${key}`]: text } })).toBeUndefined()
  })

  test('is none in a lease without annotations', () => {
    expect(read(HELD)).toBeUndefined()
  })
})

/** What the only note of a record says. */
function contentOf({ annotations }: LeaseRecord): object {
  return JSON.parse(Object.values(annotations)[0] ?? '') as object
}

describe('A note of a replica', () => {
  test('of 4096 characters is read, and no longer one', () => {
    const empty = stating('any', { pad: '' }).annotations['tenure.dev/any'] ?? ''
    const padded = (length: number) => stating('any', { pad: 'x'.repeat(length - empty.length) })
    expect(readNote(padded(4096), 'tenure.dev/any')).toBeDefined()
    expect(readNote(padded(4097), 'tenure.dev/any')).toBeUndefined()
  })

  test('that offers the lease names the only replica that may answer, or none', () => {
    expect(readOffer(withOffer(HELD, { to: 'next' }))).toEqual({ to: 'next' })
    expect(readOffer(withOffer(HELD, { to: undefined }))).toEqual({ to: undefined })
    expect(readOffer(stating('transfer-offer', { to: '' }))).toBeUndefined()
    expect(readOffer(stating('transfer-offer', { to: 7 }))).toBeUndefined()
  })

  test('that answers has an identity and a nonce, and both are texts', () => {
    expect(readAnswer(withAnswer(HELD, ANSWER))).toEqual(ANSWER)
    for (const wrong of [{ identity: undefined }, { identity: '' }, { identity: 7 }, { nonce: '' }, { nonce: 7 }]) {
      expect(readAnswer(stating('transfer-answer', { ...ANSWER, ...wrong }))).toBeUndefined()
    }
  })

  test('that answers can be taken back, and what else the lease says stays', () => {
    const offered = withOffer(HELD, { to: 'next' })
    expect(withAnswer(withAnswer(offered, ANSWER), undefined)).toEqual(offered)
  })

  test('that makes the lease a transferred one has a nonce', () => {
    expect(readTransferNonce(withTransferNonce(HELD, 'n1'))).toBe('n1')
    for (const nonce of ['', 7, undefined]) expect(readTransferNonce(stating('transfer', { nonce }))).toBeUndefined()
  })

  test('that names the process of the holder is written if that is known', () => {
    expect(readProcessRef(withProcessRef(HELD, 'pod'))).toBe('pod')
    expect(withProcessRef(HELD, undefined)).toBe(HELD)
    for (const process of ['', 7]) expect(readProcessRef(stating('holder-process', { process }))).toBeUndefined()
  })
})
