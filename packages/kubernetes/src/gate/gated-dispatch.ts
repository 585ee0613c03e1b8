import type { RequestContext } from '@kubernetes/client-node'
import { withoutOptions } from '../client/without-options.ts'
import { type WriteGateClosedError } from '@tenure/core'
import { isWriteMethod, onAbort, type WriteGate } from '@tenure/core/internal'
import { noteUnknownWrite } from './written-versions.ts'

/** What sends the requests of client-node: a dispatcher of undici. */
export type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>

/** What sits between a dispatcher and its users. */
type Interceptor = Parameters<Dispatcher['compose']>[0] extends infer First
  ? First extends readonly (infer Item)[]
    ? Item
    : First
  : never

type DispatchOptions = Parameters<Dispatcher['dispatch']>[0]
type Handler = Parameters<Dispatcher['dispatch']>[1]

/**
 * Checks the gate at the last moment: undici calls `onRequestStart` when the connection is established and nothing has been sent.
 */
export function checkedDispatch(gate: WriteGate, refuse: () => WriteGateClosedError): Interceptor {
  return (dispatch) => (options, handler) => {
    const check: typeof handler.onRequestStart = (controller, context) => {
      handler.onRequestStart?.(controller, context)
      if (!gate.isOpen()) controller.abort(refuse())
    }
    return dispatch(options, Object.create(handler, { onRequestStart: { value: check } }))
  }
}

/** Keeps the password of a proxy out of errors. */
export const discreetDispatch: Interceptor = (dispatch) => (options, handler) => {
  const failed: typeof handler.onResponseError = (controller, error) => {
    handler.onResponseError?.(controller, withoutOptions(error))
  }
  return dispatch(options, Object.create(handler, { onResponseError: { value: failed } }))
}

const UNAUTHORIZED = 401

/**
 * Applies the whole gate at the connection, for clients that do not come from `makeApiClient()` of the gated kubeconfig. Refuses
 * writes before their first byte, and aborts them when the gate closes before their answer begins. A request that upgrades the
 * protocol, such as a WebSocket, is a write, and its session ends with the gate.
 */
export function gatedDispatch(gate: WriteGate, onUnauthorized: () => void): Interceptor {
  return (dispatch) => (options, handler) => {
    const write = isWrite(options) ? new DispatchedWrite(gate, options) : undefined
    write?.assertAdmitted(handler)
    write?.note()
    if (typeof handler.onRequestStart !== 'function') return dispatch(options, handler)
    const followed = write?.follow(handler) ?? handler
    const answered: Handler['onResponseStart'] = (controller, statusCode, ...head) => {
      if (statusCode === UNAUTHORIZED) onUnauthorized()
      followed.onResponseStart?.(controller, statusCode, ...head)
    }
    return dispatch(options, Object.create(followed, { onResponseStart: { value: answered } }))
  }
}

function isWrite({ method, upgrade }: DispatchOptions): boolean {
  return isWriteMethod(method) || (upgrade !== undefined && upgrade !== null && upgrade !== false)
}

/** One write at the level of the connection. Owns its listener on the gate until the answer begins or the session ends. */
class DispatchedWrite {
  readonly #gate: WriteGate
  readonly #target: { readonly method: string; readonly url: string }
  #leave: () => void = () => {}

  constructor(gate: WriteGate, { method, origin, path }: DispatchOptions) {
    this.#gate = gate
    this.#target = { method, url: `${String(origin ?? '')}${path}` }
  }

  /** Refuses every write while the gate is closed, and a write that the gate cannot follow. */
  assertAdmitted(handler: Handler): void {
    if (!this.#gate.isOpen()) throw this.#refuse('not-sent')
    if (typeof handler.onRequestStart === 'function') return
    // Only the `fetch` of another version of undici has such a handler, for example the `fetch` of Node.
    throw new TypeError('Expected the undici of client-node to send the request, so that the write gate can follow it')
  }

  /** Its response is not read. */
  note(): void {
    noteUnknownWrite(this.#gate, this.#target.url)
  }

  /** The handler, with the write aborted when the gate closes. */
  follow(handler: Handler): Handler {
    const start: Handler['onRequestStart'] = (controller, context) => {
      handler.onRequestStart?.(controller, context)
      if (!this.#gate.isOpen()) return controller.abort(this.#refuse('not-sent'))
      this.#onClose(() => controller.abort(this.#refuse('unknown')))
    }
    const answered: Handler['onResponseStart'] = (...head) => {
      this.#leave()
      handler.onResponseStart?.(...head)
    }
    const upgraded: Handler['onRequestUpgrade'] = (controller, statusCode, headers, socket) => {
      this.#onClose(() => void socket.destroy(this.#refuse('unknown')))
      socket.once('close', () => this.#leave())
      handler.onRequestUpgrade?.(controller, statusCode, headers, socket)
    }
    const failed: Handler['onResponseError'] = (...failure) => {
      this.#leave()
      handler.onResponseError?.(...failure)
    }
    return Object.create(handler, {
      onRequestStart: { value: start },
      onRequestUpgrade: { value: upgraded },
      onResponseStart: { value: answered },
      onResponseError: { value: failed },
    })
  }

  #onClose(end: () => void): void {
    this.#leave()
    this.#leave = onAbort(this.#gate.signal, end)
  }

  #refuse(outcome: 'not-sent' | 'unknown'): WriteGateClosedError {
    return this.#gate.refuse({ ...this.#target, outcome })
  }
}
