import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LinkedList, type LinkedListNode } from '../../src/term/linked-list.ts'

class Item implements LinkedListNode<Item> {
  previous: Item | undefined
  next: Item | undefined
}

test('a linked list holds what a set would hold, in the same order, whatever is added and removed', () => {
  // Each number is an addition, or the removal of the item at that place.
  const steps = fc.array(fc.option(fc.nat(20), { nil: undefined }), { maxLength: 100 })
  fc.assert(
    fc.property(steps, (places) => {
      const list = new LinkedList<Item>()
      const set = new Set<Item>()
      for (const place of places) {
        const item = place === undefined ? undefined : [...set][place]
        if (item === undefined) {
          const added = new Item()
          list.add(added)
          set.add(added)
        } else {
          list.remove(item)
          set.delete(item)
          expect([item.previous, item.next]).toEqual([undefined, undefined])
        }
        expect(list.size).toBe(set.size)
        expect([...list]).toEqual([...set])
      }
    }),
  )
})
