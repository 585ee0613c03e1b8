import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { isWriteMethod, WriteGate } from '../../src/gate/write-gate.ts'

/** What is published on a channel while the test runs. */
function published(name: string): readonly unknown[] {
  const messages: unknown[] = []
  const listener = (message: unknown): void => void messages.push(message)
  subscribe(name, listener)
  onTestFinished(() => void unsubscribe(name, listener))
  return messages
}

function termOf({ isHeld = true } = {}) {
  const gate = new AbortController()
  return { epoch: 42n, isHeld: () => isHeld, gateSignal: gate.signal, close: (why: unknown) => gate.abort(why) }
}

describe('A method', () => {
  test.each(['GET', 'HEAD', 'OPTIONS', 'TRACE', 'get', 'Trace'])('%s reads', (method) => {
    expect(isWriteMethod(method)).toBe(false)
  })

  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'CONNECT', '', 'GETS', undefined, 7])('%s may write', (method) => {
    expect(isWriteMethod(method)).toBe(true)
  })
})

describe('A write gate', () => {
  test('is open while the term is held and its signal has not aborted', () => {
    const term = termOf()
    const gate = new WriteGate(term)
    expect([gate.term, gate.signal, gate.isOpen()]).toEqual([term, term.gateSignal, true])
    term.close(new Error('over'))
    expect(gate.isOpen()).toBe(false)
    expect(new WriteGate(termOf({ isHeld: false })).isOpen()).toBe(false)
  })

  test('publishes what it refuses, and tells its listener', () => {
    const messages = published('tenure:gate-refusal')
    const term = termOf()
    const cause = new Error('over')
    const told: unknown[] = []
    term.close(cause)
    const gate = new WriteGate(term, (refusal) => void told.push(refusal))
    const refusal = gate.refuse({ method: 'PUT', url: 'http://a.test/1', outcome: 'not-sent' })
    expect(refusal).toMatchObject({ epoch: 42n, method: 'PUT', url: 'http://a.test/1', outcome: 'not-sent', cause })
    expect(told).toEqual([refusal])
    expect(messages).toEqual([expect.objectContaining({ term, refusal })])
  })

  test('publishes what a fence on the server refused', () => {
    const messages = published('tenure:fence-refusal')
    const term = termOf()
    new WriteGate(term).noteFenceRefusal('PATCH')
    expect(messages).toEqual([{ term, method: 'PATCH' }])
  })
})

describe('The error of a refused write', () => {
  const errorOf = (url: string, outcome: 'not-sent' | 'unknown' = 'not-sent') =>
    new WriteGateClosedError(42n, { method: 'PUT', url, outcome })

  test('says whether the write may have taken effect', () => {
    expect(errorOf('http://a.test/1')).toMatchObject({ name: 'WriteGateClosedError', code: 'WRITE_GATE_CLOSED' })
    expect(errorOf('http://a.test/1').message).toBe(
      'PUT http://a.test/1 was not sent: the write gate of the term with epoch 42 is closed',
    )
    expect(errorOf('http://a.test/1', 'unknown').message).toBe(
      'PUT http://a.test/1 was aborted and may have taken effect: the write gate of the term with epoch 42 is closed',
    )
  })

  test.each([
    ['https://user:password@a.test/1', 'https://a.test/1'],
    ['HTTPS://user@a.test', 'HTTPS://a.test'],
    ['git+ssh://user@a.test/1', 'git+ssh://a.test/1'],
    ['//user:password@a.test/1', '//a.test/1'],
    ['https://a.test/@scope/1', 'https://a.test/@scope/1'],
    ['https://a.test//user@b/1', 'https://a.test//user@b/1'],
    ['/go?to=https://user@a.test', '/go'],
    ['https://a.test/1?token=t', 'https://a.test/1'],
    ['https://a.test/1#token=t', 'https://a.test/1'],
    ['/1?token=a\nb', '/1'],
  ])('shows %j as %j', (given, shown) => {
    expect(errorOf(given).url).toBe(shown)
  })
})
