import type { Agent, ClientRequest, IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { isWriteMethod, onAbort, type WriteGate } from '@tenure/core/internal'
import { isSession } from './gated-session.ts'
import { noteUnknownWrite } from './written-versions.ts'

/** Options of {@link gatedAgent}. */
export interface GatedAgentOptions {
  readonly gate: WriteGate
  /** URL of the server, for errors. */
  readonly url: string
  /** Called when the server refuses the credentials of a request. */
  readonly onRefused: () => void
}

const UNAUTHORIZED = 401

/**
 * Returns an agent for `node:http` and `node:https` that refuses writes once the gate is closed, also if the program keeps the
 * agent. A request that upgrades the protocol, such as exec, is a write.
 */
export function gatedAgent(agent: Agent, options: GatedAgentOptions): Agent {
  const addRequest = (request: ClientRequest, ...rest: readonly unknown[]) => {
    request.once('response', ({ statusCode }) => statusCode === UNAUTHORIZED && options.onRefused())
    const guard = new RequestGuard(request, options)
    if (!guard.admits('not-sent')) {
      // Without a connection, this is how an agent tells a request that it failed.
      request.onSocket(null as unknown as Socket)
      return
    }
    if (isWrite(request)) noteUnknownWrite(options.gate, `${options.url}${request.path}`)
    guard.watch()
    Reflect.apply(Reflect.get(agent, 'addRequest'), agent, [request, ...rest])
  }
  const gated: Agent = Object.create(agent, { addRequest: { value: addRequest } })
  return gated
}

/** Refuses or aborts one request when the gate is closed. */
class RequestGuard {
  readonly #request: ClientRequest
  readonly #options: GatedAgentOptions

  constructor(request: ClientRequest, options: GatedAgentOptions) {
    this.#request = request
    this.#options = options
  }

  /** Destroys the request when it is a write and the gate is closed. */
  admits(outcome: 'not-sent' | 'unknown'): boolean {
    const { gate, url } = this.#options
    const request = this.#request
    if (request.destroyed || !isWrite(request) || gate.isOpen()) return true
    request.destroy(gate.refuse({ method: request.method, url: `${url}${request.path}`, outcome }))
    return false
  }

  /**
   * Checks the gate again when the connection is established and when the gate closes, until the answer begins or the session
   * ends.
   */
  watch(): void {
    const { signal } = this.#options.gate
    const request = this.#request
    const leave = onAbort(signal, () => void (isSession(request) || this.admits('unknown')))
    request.prependOnceListener('socket', (socket: Socket) => {
      if (this.admits('not-sent') && socket.connecting) {
        socket.prependOnceListener('connect', () => void this.admits('not-sent'))
      }
    })
    request.once('response', leave)
    request.once('close', leave)
    request.once('upgrade', (_answer: IncomingMessage, socket: Socket) => this.#endWithGate(socket))
  }

  #endWithGate(socket: Socket): void {
    const { gate, url } = this.#options
    const { method, path } = this.#request
    if (isSession(this.#request)) return
    const forget = onAbort(gate.signal, () => {
      socket.destroy(gate.refuse({ method, url: `${url}${path}`, outcome: 'unknown' }))
    })
    socket.once('close', forget)
  }
}

function isWrite(request: ClientRequest): boolean {
  return isWriteMethod(request.method) || request.hasHeader('upgrade')
}
