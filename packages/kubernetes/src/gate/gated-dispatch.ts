import type { RequestContext } from '@kubernetes/client-node'
import { isWriteMethod, type WriteGate, type WriteGateClosedError } from '@tenure/core'

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

/**
 * The whole gate at the level of the connection, for clients that were not made with `makeApiClient()` of the gated kubeconfig:
 * writes are refused before a byte of them is sent, and aborted when the gate closes before their answer begins.
 */
export function gatedDispatch(gate: WriteGate): Interceptor {
  return (dispatch) => (options, handler) => {
    const { method } = options
    if (!isWriteMethod(method)) return dispatch(options, handler)
    const url = `${String(options.origin ?? '')}${options.path}`
    if (!gate.isOpen()) throw gate.refuse({ method, url, outcome: 'not-sent' })
    let onGateClosed = () => {}
    const leave = () => gate.signal.removeEventListener('abort', onGateClosed)
    const start: typeof handler.onRequestStart = (controller, context) => {
      handler.onRequestStart?.(controller, context)
      if (!gate.isOpen()) return controller.abort(gate.refuse({ method, url, outcome: 'not-sent' }))
      onGateClosed = () => controller.abort(gate.refuse({ method, url, outcome: 'unknown' }))
      gate.signal.addEventListener('abort', onGateClosed, { once: true })
    }
    const answered: typeof handler.onResponseStart = (controller, ...head) => {
      leave()
      handler.onResponseStart?.(controller, ...head)
    }
    const failed: typeof handler.onResponseError = (controller, error) => {
      leave()
      handler.onResponseError?.(controller, error)
    }
    return dispatch(
      options,
      Object.create(handler, {
        onRequestStart: { value: start },
        onResponseStart: { value: answered },
        onResponseError: { value: failed },
      }),
    )
  }
}
