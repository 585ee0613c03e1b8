import diagnosticsChannel from 'node:diagnostics_channel'
import type events from 'node:events'
import { createContext, runInContext } from 'node:vm'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as withNode from '../../src/ports/node-modules.ts'

afterEach(() => {
  vi.unstubAllGlobals()
  vi.resetModules()
})

/** The module as a program gets it whose `process` is this. */
async function importedWith(process: unknown): Promise<typeof withNode> {
  vi.resetModules()
  vi.stubGlobal('process', process)
  const loading = import('../../src/ports/node-modules.ts')
  return loading.finally(() => vi.unstubAllGlobals())
}

describe('With Node', () => {
  test('a channel is the diagnostics channel of its name', () => {
    expect(withNode.channel('tenure:test')).toBe(diagnosticsChannel.channel('tenure:test'))
  })

  test('a value is inspected, maps of other realms are maps, and equality is deep', () => {
    expect(withNode.inspect({ a: { b: 1 } }, { depth: 0 })).toBe('{ a: [Object] }')
    expect(withNode.isMap(runInContext('new Map()', createContext()))).toBe(true)
    expect(withNode.isMap({})).toBe(false)
    expect(withNode.isSameAsParsed({ a: [1] }, { a: [1] })).toBe(true)
    expect(withNode.isSameAsParsed({}, { a: undefined })).toBe(false)
  })

  test('any number of listeners may wait for a signal', async () => {
    const setMaxListeners = vi.fn<typeof events.setMaxListeners>()
    const getBuiltinModule = (name: string) => (name === 'node:events' ? { setMaxListeners } : undefined)
    const { signal } = new AbortController()
    const { allowListeners } = await importedWith({ getBuiltinModule })
    allowListeners(signal)
    expect(setMaxListeners.mock.calls).toEqual([[0, signal]])
  })
})

describe.each([
  ['Without Node', undefined],
  ['Where Node tells nothing of its modules', {}],
])('%s', (_, process) => {
  test('nobody hears of a channel', async () => {
    const channel = (await importedWith(process)).channel('tenure:test')
    expect([channel.name, channel.hasSubscribers, channel.publish({})]).toEqual(['tenure:test', false, undefined])
  })

  test('a value is shown by its type', async () => {
    const { inspect } = await importedWith(process)
    expect([inspect(new Map(), {}), inspect({}, {})]).toEqual(['[object Map]', '[object Object]'])
  })

  test('the maps of this realm are maps', async () => {
    const { isMap } = await importedWith(process)
    expect([isMap(new Map()), isMap({})]).toEqual([true, false])
  })

  test('values are the same that have the same JSON', async () => {
    const { isSameAsParsed } = await importedWith(process)
    expect([isSameAsParsed({}, { a: undefined }), isSameAsParsed({ a: 1 }, { a: 2 })]).toEqual([true, false])
  })

  test('a signal stays as it is', async () => {
    const { signal } = new AbortController()
    const { allowListeners } = await importedWith(process)
    expect(allowListeners(signal)).toBeUndefined()
  })
})
