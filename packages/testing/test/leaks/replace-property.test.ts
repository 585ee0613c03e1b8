import { describe, expect, it } from 'vitest'
import { replaceProperty } from '../../src/leaks/replace-property.ts'

class Counter {
  add(by: number): number {
    return by
  }
}

const doubling = (original: (by: number) => number) =>
  function add(this: Counter, by: number) {
    return 2 * original.call(this, by)
  }

describe('a replaced function', () => {
  it('does what it was replaced with until that is undone', () => {
    const counter = new Counter()
    const undo = replaceProperty(Counter.prototype, 'add', doubling)
    expect(counter.add(1)).toBe(2)
    undo()
    expect(counter.add(1)).toBe(1)
  })

  it('restores the original descriptor', () => {
    const before = Object.getOwnPropertyDescriptor(Counter.prototype, 'add')
    replaceProperty(Counter.prototype, 'add', doubling)()
    expect(Object.getOwnPropertyDescriptor(Counter.prototype, 'add')).toEqual(before)
  })

  it('removes the property if it was inherited', () => {
    const counter = new Counter()
    const undo = replaceProperty(counter, 'add', doubling)
    expect(Object.hasOwn(counter, 'add')).toBe(true)
    undo()
    expect(Object.hasOwn(counter, 'add')).toBe(false)
  })

  it('has the name, the length and the properties of the original', () => {
    const add = (a: number, b: number) => a + b
    const target = { add: Object.assign(add, { custom: true }) }
    const undo = replaceProperty(target, 'add', (original) => Object.assign(() => original(1, 1), { custom: false }))
    expect([target.add.name, target.add.length, target.add.custom]).toEqual(['add', 2, true])
    undo()
  })

  it('constructs instances of the original class', () => {
    const target = { Counter }
    const undo = replaceProperty(target, 'Counter', (original) => new Proxy(original, {}))
    const counter = new target.Counter()
    expect([counter instanceof Counter, counter instanceof target.Counter, counter.constructor === Counter]).toEqual([
      true,
      true,
      true,
    ])
    undo()
  })

  it('calls the original after the undo, through a wrapper that other code restores', () => {
    const counter = new Counter()
    const undo = replaceProperty(Counter.prototype, 'add', doubling)
    const undoTheirs = replaceProperty(Counter.prototype, 'add', (original) => (by) => -original(by))
    undo()
    expect(counter.add(1)).toBe(-1)
    undoTheirs()
    expect(counter.add(1)).toBe(1)
  })
})
