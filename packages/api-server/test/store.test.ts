import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../src/objects/kube-object.ts'
import { Store, StoreConflictError, type ObjectRef, type StoreEvent } from '../src/storage/store.ts'

const COLLECTION = 'things'

function ref(name: string, namespace = 'ns'): ObjectRef {
  return { collection: COLLECTION, namespace, name }
}

function thing(name: string, value = 0): KubeObject {
  return { apiVersion: 'v1', kind: 'Thing', metadata: { name, namespace: 'ns' }, value }
}

function conflictOf(write: () => unknown): string | undefined {
  try {
    write()
  } catch (error) {
    if (error instanceof StoreConflictError) return error.conflict
    throw error
  }
  return undefined
}

describe('a store', () => {
  it('gives every commit the next version, also after a deletion', () => {
    const store = new Store({ initialVersion: 10 })
    const created = store.create(ref('a'), thing('a'))
    const updated = store.update(ref('a'), thing('a', 1))
    const deleted = store.delete(ref('a'))
    const reborn = store.create(ref('a'), thing('a'))
    const versions = [created, updated, deleted, reborn].map(({ metadata }) => metadata.resourceVersion)
    expect(versions).toEqual(['11', '12', '13', '14'])
  })

  it('refuses a write from another version than the stored one, and changes nothing', () => {
    const store = new Store()
    const first = store.create(ref('a'), thing('a'))
    const second = store.update(ref('a'), thing('a', 1), first.metadata.resourceVersion)
    expect(conflictOf(() => store.update(ref('a'), thing('a', 2), first.metadata.resourceVersion))).toBe('changed')
    expect(conflictOf(() => store.delete(ref('a'), first.metadata.resourceVersion))).toBe('changed')
    expect(store.get(ref('a'))).toBe(second)
  })

  it('refuses to create what exists and to change what does not', () => {
    const store = new Store()
    store.create(ref('a'), thing('a'))
    expect(conflictOf(() => store.create(ref('a'), thing('a')))).toBe('exists')
    expect(conflictOf(() => store.update(ref('b'), thing('b')))).toBe('absent')
    expect(conflictOf(() => store.delete(ref('b')))).toBe('absent')
  })

  it('tells watchers of a change before the write returns', () => {
    const store = new Store()
    const seen: StoreEvent[] = []
    const stop = store.watch(COLLECTION, (event) => seen.push(event))
    const created = store.create(ref('a'), thing('a'))
    expect(seen).toEqual([expect.objectContaining({ type: 'ADDED', object: created, previous: undefined })])
    stop()
    store.delete(ref('a'))
    expect(seen).toHaveLength(1)
  })

  it('tells all watchers of changes in the order of versions, also of those that a watcher makes', () => {
    const store = new Store()
    const seen: string[] = []
    store.watch(COLLECTION, ({ ref: { name } }) => {
      if (name === 'a') store.create(ref('b'), thing('b'))
    })
    store.watch(COLLECTION, ({ version, ref: { name } }) => seen.push(`${version} ${name}`))
    store.create(ref('a'), thing('a'))
    expect(seen).toEqual(['2 a', '3 b'])
  })

  it('forgets events up to the version to which it is compacted', () => {
    const store = new Store()
    store.create(ref('a'), thing('a'))
    store.create(ref('b'), thing('b'))
    store.create(ref('c'), thing('c'))
    store.compact(3)
    expect(store.eventsSince(COLLECTION, 2)).toBeUndefined()
    expect(store.listAt(COLLECTION, 2)).toBeUndefined()
    expect(store.eventsSince(COLLECTION, 3)?.map((event) => event.ref.name)).toEqual(['c'])
  })

  it('keeps at least the given number of events, and not many more', () => {
    const store = new Store({ historyLimit: 10 })
    store.create(ref('a'), thing('a'))
    for (let value = 0; value < 1000; value += 1) store.update(ref('a'), thing('a', value))
    const kept = store.version - store.compactedVersion
    expect(kept).toBeGreaterThanOrEqual(10)
    expect(kept).toBeLessThanOrEqual(20)
  })

  it('can show every state that it had since it was compacted', () => {
    const names = fc.constantFrom('a', 'b', 'c')
    const operations = fc.array(fc.tuple(fc.constantFrom('put', 'delete'), names, fc.nat(9)), { maxLength: 40 })
    fc.assert(
      fc.property(operations, (steps) => {
        const store = new Store()
        const states = [{ version: store.version, objects: store.list(COLLECTION) }]
        for (const [operation, name, value] of steps) {
          const exists = store.get(ref(name)) !== undefined
          if (operation === 'delete') {
            if (exists) store.delete(ref(name))
          } else if (exists) store.update(ref(name), thing(name, value))
          else store.create(ref(name), thing(name, value))
          states.push({ version: store.version, objects: store.list(COLLECTION) })
        }
        for (const { version, objects } of states) expect(store.listAt(COLLECTION, version)).toEqual(objects)
      }),
    )
  })
})
