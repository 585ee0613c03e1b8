import { expect, test } from 'vitest'
import { formatNote, noteKey, readNote, wantedEndpoints } from '../../src/endpoints/endpoint-note.ts'
import type { SliceEndpoint } from '../../src/endpoints/slice-endpoint.ts'
import type { Member } from '../../src/membership/member.ts'

const entry = (address: string, more: Partial<SliceEndpoint> = {}): SliceEndpoint => ({
  address,
  ready: true,
  serving: true,
  terminating: false,
  nodeName: undefined,
  zone: undefined,
  ...more,
})

const member = (note: string | undefined, more: Partial<Member> = {}): Member => ({
  identity: 'a',
  lease: 'a',
  state: 'living',
  address: undefined,
  version: undefined,
  zone: undefined,
  labels: {},
  renewedAt: 5,
  notes: note === undefined ? {} : { [noteKey('shop')]: note },
  ...more,
})

const read = (note: string | undefined, family: 'IPv4' | 'IPv6' = 'IPv4') => readNote(member(note), 'shop', family)

test('a member says in a note of the slice what it wants to be in it', () => {
  const wanted = entry('10.0.0.1', { ready: false, nodeName: 'node-1' })
  expect(noteKey('shop')).toBe('endpoint shop')
  expect(formatNote(wanted)).toBe(
    '{"addresses":["10.0.0.1"],"conditions":{"ready":false,"serving":true,"terminating":false},"nodeName":"node-1"}',
  )
  expect(read(formatNote(wanted))).toEqual(wanted)
  expect(readNote(member(formatNote(wanted)), 'other', 'IPv4')).toBeUndefined()
})

test('an address in a note has one form, and the family of the slice', () => {
  expect(read(formatNote(entry('FD00:0::1')), 'IPv6')?.address).toBe('fd00::1')
  expect(read(formatNote(entry('fd00::1')))).toBeUndefined()
  expect(read(formatNote(entry('10.0.0.1')), 'IPv6')).toBeUndefined()
  expect(read(formatNote(entry('shop.example')))).toBeUndefined()
})

const padded = (length: number) => formatNote(entry('10.0.0.1')).padEnd(length)

test.each([undefined, '', '{', '"x"', '[]', '{}', padded(2049)])('the note %# says nothing', (note) => {
  expect(read(note)).toBeUndefined()
})

test('a note of 2048 characters is read', () => {
  expect(read(padded(2048))).toEqual(entry('10.0.0.1'))
})

test('of several members with one address the living one counts, then the ready one, then the first', () => {
  const [ready, unready] = [formatNote(entry('10.0.0.1')), formatNote(entry('10.0.0.1', { ready: false }))]
  const wanted = (...members: readonly Member[]) => wantedEndpoints(members, 'shop', 'IPv4')
  const suspect = member(ready, { state: 'suspect', renewedAt: 1 })
  const [living, same] = [member(unready, { renewedAt: 2 }), member(unready, { renewedAt: 3 })]
  const best = member(ready, { renewedAt: 4 })
  const renewals = (...members: readonly Member[]) => wanted(...members).map(({ renewedAt }) => renewedAt)
  expect(renewals(suspect, living)).toEqual([2])
  expect(renewals(living, suspect)).toEqual([2])
  expect(renewals(living, same)).toEqual([2])
  expect(renewals(living, best, same)).toEqual([4])
  expect(renewals(member(unready, { state: 'suspect', renewedAt: 6 }), suspect)).toEqual([1])
  expect(renewals(member(unready, { state: 'suspect', renewedAt: 6 }))).toEqual([6])
  expect(wanted(living, member(undefined), member(formatNote(entry('10.0.0.2'))))).toMatchObject([
    { endpoint: entry('10.0.0.1', { ready: false }), renewedAt: 2 },
    { endpoint: entry('10.0.0.2'), renewedAt: 5 },
  ])
})
