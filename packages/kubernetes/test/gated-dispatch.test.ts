import { WriteGateClosedError } from '@tenure/core'
import { describe, expect, test, vi } from 'vitest'
import { checkedDispatch, discreetDispatch, gatedDispatch } from '../src/gate/gated-dispatch.ts'
import { openGate } from './support/open-gate.ts'

const CONFIG_MAPS = '/api/v1/namespaces/ops/configmaps'
const URL_OF_SERVER = 'https://server.example'

describe('A dispatcher of undici behind the gate', () => {
  type Options = Parameters<Parameters<ReturnType<typeof gatedDispatch>>[0]>[0]
  type Handler = Parameters<Parameters<ReturnType<typeof gatedDispatch>>[0]>[1]

  const write = { method: 'POST', origin: URL_OF_SERVER, path: CONFIG_MAPS } as Options
  const read = { ...write, method: 'GET' } as Options

  /** Dispatches a request, and hands out the handler that the connection gets. */
  function dispatched(term: ReturnType<typeof openGate>, options: Options, own?: object) {
    const calls: string[] = []
    const handler = {
      onRequestStart: () => calls.push('start'),
      onRequestUpgrade: () => calls.push('upgrade'),
      onResponseStart: (_controller: unknown, status: number) => calls.push(`response ${status}`),
      onResponseError: (_controller: unknown, error: Error) => calls.push(`error ${error.message}`),
      ...own,
    } as Handler
    const onUnauthorized = vi.fn<() => void>()
    let given: Handler | undefined
    const inner = vi.fn((_options: Options, inside: Handler) => {
      given = inside
      return true
    })
    gatedDispatch(term.gate, onUnauthorized)(inner)(options, handler)
    const abort = vi.fn<(reason: Error) => void>()
    const controller = { abort } as never
    return { calls, abort, onUnauthorized, controller, handler, inner, given: given ?? {} }
  }

  test('follows a write from its start to its answer, and leaves no listener', () => {
    const term = openGate()
    const { calls, given, controller, abort, onUnauthorized } = dispatched(term, write)
    expect(term.noted).toEqual(['configmaps/ops: '])
    given.onRequestStart?.(controller, {})
    expect(term.listeners()).toBe(1)
    given.onResponseStart?.(controller, 201, {}, 'Created')
    expect(term.listeners()).toBe(0)
    term.close()
    expect(calls).toEqual(['start', 'response 201'])
    expect(abort).not.toHaveBeenCalled()
    expect(onUnauthorized).not.toHaveBeenCalled()
  })

  test('aborts a write in flight when the gate closes', () => {
    const term = openGate()
    const { given, controller, abort } = dispatched(term, write)
    given.onRequestStart?.(controller, {})
    term.close()
    expect(abort.mock.calls).toMatchObject([
      [{ code: 'WRITE_GATE_CLOSED', method: 'POST', url: `${URL_OF_SERVER}${CONFIG_MAPS}`, outcome: 'unknown' }],
    ])
  })

  test('refuses a write before its first byte if the term has run out by then', () => {
    const term = openGate()
    term.answers.push(true, false)
    const { calls, given, controller, abort } = dispatched(term, write)
    given.onRequestStart?.(controller, {})
    expect(calls).toEqual(['start'])
    expect(abort.mock.calls).toMatchObject([[{ outcome: 'not-sent' }]])
    expect(term.listeners()).toBe(0)
  })

  test('leaves no listener of a write that fails', () => {
    const term = openGate()
    const { calls, given, controller } = dispatched(term, write)
    given.onRequestStart?.(controller, {})
    given.onResponseError?.(controller, new Error('reset'))
    expect([calls, term.listeners()]).toEqual([['start', 'error reset'], 0])
  })

  test('refuses a write at once while the gate is closed, and lets a read pass unchanged', () => {
    const term = openGate()
    term.close()
    expect(() => dispatched(term, write)).toThrow(WriteGateClosedError)
    expect(() => dispatched(term, { method: 'POST', path: CONFIG_MAPS })).toThrow(WriteGateClosedError)
    const refused = { outcome: 'not-sent', method: 'POST' }
    expect(term.refusals).toMatchObject([
      { ...refused, url: `${URL_OF_SERVER}${CONFIG_MAPS}` },
      { ...refused, url: CONFIG_MAPS },
    ])
    expect(term.noted).toEqual([])
    const { calls, given, controller, abort, onUnauthorized } = dispatched(term, read)
    given.onRequestStart?.(controller, {})
    given.onResponseStart?.(controller, 401, {}, '')
    expect(calls).toEqual(['start', 'response 401'])
    expect(abort).not.toHaveBeenCalled()
    expect(onUnauthorized).toHaveBeenCalledOnce()
    expect(term.noted).toEqual([])
  })

  test('refuses a write that it cannot follow, and passes such a read on as it is', () => {
    const term = openGate()
    const old = { onRequestStart: undefined }
    expect(() => dispatched(term, write, old)).toThrow(
      new TypeError('Expected the undici of client-node to send the request, so that the write gate can follow it'),
    )
    const { handler, given } = dispatched(term, read, old)
    expect(given).toBe(handler)
  })

  test.each([
    ['websocket', 1],
    [true, 1],
    ['', 1],
    [false, 0],
    [null, 0],
    [undefined, 0],
  ])('takes a read that upgrades to %s for a write, or not: %d', (upgrade, writes) => {
    const term = openGate()
    dispatched(term, { ...read, upgrade } as Options)
    expect(term.noted).toHaveLength(writes)
  })

  test('ends a session when the gate closes, and forgets a session that has ended', () => {
    const term = openGate()
    const { calls, given, controller } = dispatched(term, {
      method: 'GET',
      path: CONFIG_MAPS,
      upgrade: 'websocket',
    })
    given.onRequestStart?.(controller, {})
    const socket = {
      destroy: vi.fn<(error: Error) => void>(),
      once: vi.fn<(event: string, listener: () => void) => void>(),
    }
    given.onRequestUpgrade?.(controller, 101, {}, socket as never)
    expect(calls).toEqual(['start', 'upgrade'])
    expect(term.listeners()).toBe(1)
    const [event, forget] = socket.once.mock.calls[0] ?? []
    expect(event).toBe('close')
    const other = dispatched(term, { ...read, upgrade: 'websocket' })
    other.given.onRequestUpgrade?.(controller, 101, {}, socket as never)
    forget?.()
    expect(term.listeners()).toBe(1)
    term.close()
    expect(socket.destroy.mock.calls).toMatchObject([[{ outcome: 'unknown', url: `${URL_OF_SERVER}${CONFIG_MAPS}` }]])
  })

  test('that only checks aborts a request at its start if the gate is closed by then', () => {
    const refusal = new Error('refused') as WriteGateClosedError
    for (const isOpen of [true, false]) {
      const term = openGate()
      let given: Handler = {}
      const started = vi.fn<() => void>()
      const own = { onRequestStart: started } as Handler
      checkedDispatch(
        term.gate,
        () => refusal,
      )((_options: Options, handler: Handler) => {
        given = handler
        return true
      })(write, own)
      if (!isOpen) term.close()
      const abort = vi.fn<(reason: Error) => void>()
      given.onRequestStart?.({ abort } as never, {})
      expect(started).toHaveBeenCalledOnce()
      expect(abort.mock.calls).toEqual(isOpen ? [] : [[refusal]])
    }
  })

  test('for a proxy keeps the options of the connection out of errors', () => {
    let given: Handler = {}
    const failed = vi.fn<(controller: unknown, error: Error) => void>()
    discreetDispatch((_options: Options, handler: Handler) => {
      given = handler
      return true
    })(read, { onResponseError: failed })
    const cause = Object.assign(new Error('inner'), { options: { password: 'secret' } })
    const error = Object.assign(new Error('outer', { cause }), { options: 'secret' })
    given.onResponseError?.({} as never, error)
    expect(failed.mock.calls[0]?.[1]).toBe(error)
    expect(['options' in error, 'options' in cause]).toEqual([false, false])
  })
})
