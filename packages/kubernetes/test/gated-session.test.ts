import { describe, expect, test, vi } from 'vitest'
import { endWithGate, isSession } from '../src/gate/gated-session.ts'
import { openGate } from './support/open-gate.ts'

const URL_OF_SERVER = 'https://server.example'

describe('A session on a WebSocket', () => {
  function opening({ destroyed = false, readyState = 0 } = {}) {
    const request = { destroyed, destroy: vi.fn<(error: Error) => void>(), end: vi.fn<() => void>() }
    const closed: (() => void)[] = []
    const session = {
      readyState,
      emit: vi.fn<(event: string, error: Error) => boolean>(),
      terminate: vi.fn<() => void>(),
      once(event: string, listener: () => void) {
        expect(event).toBe('close')
        closed.push(listener)
        return session
      },
    }
    const term = openGate()
    const open = () => endWithGate(term.gate, URL_OF_SERVER)(request as never, session)
    return { request, session, term, open, close: () => closed.forEach((listener) => listener()) }
  }

  const refusal = (outcome: string) => ({ code: 'WRITE_GATE_CLOSED', method: 'CONNECT', outcome, url: URL_OF_SERVER })

  test('is opened while the gate is open, and left alone once it has closed by itself', () => {
    const { request, session, term, open, close } = opening({ readyState: 1 })
    open()
    expect(request.end).toHaveBeenCalledOnce()
    expect(isSession(request as never)).toBe(true)
    close()
    term.close()
    expect([session.terminate.mock.calls, request.destroy.mock.calls, term.refusals]).toEqual([[], [], []])
    expect(term.listeners()).toBe(0)
  })

  test('that is open gets the refusal as its error, and ends', () => {
    const { request, session, term, open } = opening({ readyState: 1 })
    open()
    term.close()
    expect(session.emit.mock.calls).toMatchObject([['error', refusal('unknown')]])
    expect(session.terminate).toHaveBeenCalledOnce()
    expect(request.destroy).not.toHaveBeenCalled()
  })

  test.each([0, 2, 3])('in state %d fails with the refusal', (readyState) => {
    const { request, session, term, open } = opening({ readyState })
    open()
    term.close()
    expect(request.destroy.mock.calls).toMatchObject([[refusal('unknown')]])
    expect(session.emit).not.toHaveBeenCalled()
  })

  test('is not opened while the gate is closed', () => {
    const { request, term, open } = opening()
    term.close()
    open()
    expect(request.destroy.mock.calls).toMatchObject([[refusal('not-sent')]])
    expect(request.end).not.toHaveBeenCalled()
  })

  test('that the agent has refused is not refused again', () => {
    const { request, term, open } = opening({ destroyed: true })
    term.close()
    open()
    expect(isSession(request as never)).toBe(false)
    expect([request.destroy.mock.calls, request.end.mock.calls, term.refusals]).toEqual([[], [], []])
  })
})
