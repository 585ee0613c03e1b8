import type { RequestContext } from '@kubernetes/client-node'
import { withoutOptions } from '../client/without-options.ts'
import { type WriteGateClosedError } from '@tenure/core'
import { isWriteMethod, onAbort, type WriteGate } from '@tenure/core/internal'

/** What sends the requests of client-node: a dispatcher of undici. */
export type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>

/** What sits between a dispatcher and its users. */
type Interceptor = Parameters<Dispatcher['compose']>[0] extends infer First
  ? First extends readonly (infer Item)[]
    ? Item
    : First
  : never

/** Asks the gate once more at the last moment: undici calls `onRequestStart` when the connection is there and nothing was sent. */
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
 * The whole gate at the level of the connection, for clients that were not made with `makeApiClient()` of the gated kubeconfig:
 * writes are refused before a byte of them is sent, and aborted when the gate closes before their answer begins. What asks for
 * another protocol, as a WebSocket does, is a write, and its session ends with the gate.
 */
export function gatedDispatch(gate: WriteGate, onUnauthorized: () => void): Interceptor {
  return (dispatch) => (options, handler) => {
    const { method, upgrade } = options
    const isWrite = isWriteMethod(method) || (upgrade !== undefined && upgrade !== null && upgrade !== false)
    const url = `${String(options.origin ?? '')}${options.path}`
    if (isWrite && !gate.isOpen()) throw gate.refuse({ method, url, outcome: 'not-sent' })
    if (typeof handler.onRequestStart !== 'function') {
      // Such a handler could not be followed; only the `fetch` of another version of undici has one, as that of Node may be.
      if (isWrite)
        throw new TypeError(
          'Expected the undici of client-node to send the request, so that the write gate can follow it',
        )
      return dispatch(options, handler)
    }
    let leave = () => {}
    const follow = (end: () => void) => {
      leave()
      leave = onAbort(gate.signal, end)
    }
    const start: typeof handler.onRequestStart = (controller, context) => {
      handler.onRequestStart?.(controller, context)
      if (!isWrite) return
      if (!gate.isOpen()) return controller.abort(gate.refuse({ method, url, outcome: 'not-sent' }))
      follow(() => controller.abort(gate.refuse({ method, url, outcome: 'unknown' })))
    }
    const answered: typeof handler.onResponseStart = (controller, statusCode, ...head) => {
      leave()
      if (statusCode === UNAUTHORIZED) onUnauthorized()
      handler.onResponseStart?.(controller, statusCode, ...head)
    }
    const upgraded: typeof handler.onRequestUpgrade = (controller, statusCode, headers, socket) => {
      follow(() => void socket.destroy(gate.refuse({ method, url, outcome: 'unknown' })))
      socket.once('close', () => leave())
      handler.onRequestUpgrade?.(controller, statusCode, headers, socket)
    }
    const failed: typeof handler.onResponseError = (controller, error) => {
      leave()
      handler.onResponseError?.(controller, error)
    }
    return dispatch(
      options,
      Object.create(handler, {
        onRequestStart: { value: start },
        onRequestUpgrade: { value: upgraded },
        onResponseStart: { value: answered },
        onResponseError: { value: failed },
      }),
    )
  }
}
