import { expect, test } from 'vitest'
import { Listing } from '../src/reflector/listing.ts'
import { readableOnly } from '../src/reflector/readable-only.ts'
import { WatchInterruptedError } from '../src/reflector/watch-interrupted-error.ts'

const object = (name: string, resourceVersion?: string) => ({ metadata: { name, resourceVersion } })
const list = (...items: readonly unknown[]) => ({ metadata: { resourceVersion: '20' }, items })
const all = () => true

test('a list shows the wanted objects by their names, and that the others were absent at its version', () => {
  const listing = Listing.parse(list(object('a', '7'), object('b', '8'), 'x', {}, object('c')))
  expect(listing.version).toBe(20n)
  expect(listing.absent).toEqual({ kind: 'absent', version: 20n })
  expect(listing.only((name) => name !== 'c')).toEqual(
    new Map([
      ['a', { kind: 'present', version: 7n, object: object('a', '7') }],
      ['b', { kind: 'present', version: 8n, object: object('b', '8') }],
    ]),
  )
  expect(listing.only((name) => name === 'x').size).toBe(0)
})

test.each([
  ['The resource version of the list is not a decimal number', { items: [] }],
  ['The resource version of the list is not a decimal number', { metadata: { resourceVersion: 'v1' }, items: [] }],
  ['The list has no items', { metadata: { resourceVersion: '7' } }],
  ['The list has no items', { metadata: { resourceVersion: '7' }, items: {} }],
])('an answer that is no list is refused: %s', (message, answer) => {
  expect(() => Listing.parse(answer)).toThrow(new WatchInterruptedError(message))
})

test('an object without a version is refused, as that does not mean that it is absent', () => {
  const listing = Listing.parse(list(object('a', '7'), object('c')))
  expect(() => listing.only(all)).toThrow(
    new WatchInterruptedError('The resource version of c in the list is not a decimal number'),
  )
})

/** What an observer of leases hears of a watch whose objects are readable only with an even version. */
function filtered() {
  const calls: string[] = []
  const observer = readableOnly(
    {
      changed: ({ version }) => calls.push(`changed@${version}`),
      up: () => calls.push('up'),
      down: ({ message }) => calls.push(`down: ${message}`),
    },
    ({ version }) => {
      if (version % 2n === 1n) throw new Error(`cannot read ${version}`)
      return { kind: 'absent', version }
    },
  )
  const see = (version: bigint) => observer.changed({ kind: 'absent', version })
  return { calls, observer, see }
}

test('an object that cannot be read is a watch that is down until one can be read', () => {
  const { calls, observer, see } = filtered()
  see(2n)
  observer.up()
  see(3n)
  see(5n)
  see(6n)
  see(8n)
  expect(calls).toEqual(['changed@2', 'up', 'down: cannot read 3', 'changed@6', 'up', 'changed@8'])
})

test('an observer of objects that cannot be read hears nothing of the connection, and no `up` before there is one', () => {
  const { calls, observer, see } = filtered()
  see(1n)
  see(2n)
  see(3n)
  observer.up()
  observer.down(new Error('reset'))
  see(4n)
  observer.up()
  observer.down(new Error('reset again'))
  expect(calls).toEqual([
    'down: cannot read 1',
    'changed@2',
    'down: cannot read 3',
    'changed@4',
    'up',
    'down: reset again',
  ])
})
