import type { ClientRequest } from 'node:http'
import { onAbort, type WriteGate } from '@tenure/core/internal'

/** The part of a WebSocket of `ws` that Tenure uses. client-node runs exec, attach, port-forward and copy on it. */
interface Session {
  readonly readyState: number
  emit(event: 'error', error: Error): boolean
  once(event: 'close', listener: () => void): this
  terminate(): void
}

const OPEN = 1

/** The requests of sessions that {@link endWithGate} ends. */
const sessions = new WeakSet<ClientRequest>()

/** Whether a request is that of a session which {@link endWithGate} ends. */
export function isSession(request: ClientRequest): boolean {
  return sessions.has(request)
}

/** What `ws` calls when the handshake of a session is about to be sent. */
export type FinishRequest = (request: ClientRequest, session: Session) => void

/**
 * Ends sessions with the gate: a session that is being opened fails, and an open session emits an `error` with the refusal and is
 * closed. A command in a container continues after its session has ended.
 */
export function endWithGate(gate: WriteGate, url: string): FinishRequest {
  return (request, session) => {
    // The agent has refused it already.
    if (request.destroyed) return
    sessions.add(request)
    const refuse = (outcome: 'not-sent' | 'unknown') => gate.refuse({ method: 'CONNECT', url, outcome })
    if (!gate.isOpen()) {
      request.destroy(refuse('not-sent'))
      return
    }
    const forget = onAbort(gate.signal, () => {
      const refusal = refuse('unknown')
      if (session.readyState === OPEN) {
        session.emit('error', refusal)
        session.terminate()
      } else {
        request.destroy(refusal)
      }
    })
    session.once('close', forget)
    request.end()
  }
}
