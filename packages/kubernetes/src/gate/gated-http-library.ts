import {
  wrapHttpLibrary,
  type HttpLibrary,
  type PromiseHttpLibrary,
  type RequestContext,
  type ResponseContext,
} from '@kubernetes/client-node'
import type { WriteGate } from './write-gate.ts'
import type { WriteGateClosedError } from './write-gate-closed-error.ts'

type Dispatcher = NonNullable<ReturnType<RequestContext['getDispatcher']>>

const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends requests as `inner` does, and writes only while the gate is open.
 *
 * The gate is asked when a write is handed over and again, where the connection allows it, at the last moment before its first
 * byte is written: a connection may take its time. Writes under way are aborted when the gate closes.
 */
export function gatedHttpLibrary(inner: HttpLibrary, gate: WriteGate): HttpLibrary {
  const library: PromiseHttpLibrary = {
    send: async (request) =>
      READS.has(request.getHttpMethod()) ? inner.send(request).toPromise() : new GatedWrite(request, gate).send(inner),
  }
  return wrapHttpLibrary(library)
}

/** One write. Owns its abort controller and the listeners on the signals that it follows until the answer begins. */
class GatedWrite {
  readonly #request: RequestContext
  readonly #gate: WriteGate
  readonly #controller = new AbortController()
  #refusal: WriteGateClosedError | undefined

  constructor(request: RequestContext, gate: WriteGate) {
    this.#request = request
    this.#gate = gate
  }

  async send(inner: HttpLibrary): Promise<ResponseContext> {
    if (!this.#gate.isOpen()) throw this.#refuse('not-sent')
    const own = this.#request.getSignal()
    const onGateClosed = () => this.#controller.abort(this.#refuse('unknown'))
    const onOwnAbort = () => this.#controller.abort(own?.reason)
    this.#gate.signal.addEventListener('abort', onGateClosed, { once: true })
    own?.addEventListener('abort', onOwnAbort, { once: true })
    if (own?.aborted === true) onOwnAbort()
    try {
      this.#request.setSignal(this.#controller.signal)
      const dispatcher = this.#request.getDispatcher()
      if (dispatcher !== undefined) this.#request.setDispatcher(this.#checkedAtStart(dispatcher))
      return await inner.send(this.#request).toPromise()
    } catch (error) {
      // Whatever the HTTP library made of it, the refusal is the cause.
      throw this.#refusal ?? error
    } finally {
      this.#gate.signal.removeEventListener('abort', onGateClosed)
      own?.removeEventListener('abort', onOwnAbort)
    }
  }

  #refuse(outcome: 'not-sent' | 'unknown'): WriteGateClosedError {
    this.#refusal ??= this.#gate.refuse({
      method: this.#request.getHttpMethod(),
      url: this.#request.getUrl(),
      outcome,
    })
    return this.#refusal
  }

  /** undici calls `onRequestStart` when the connection is there and nothing has been written to it. */
  #checkedAtStart(dispatcher: Dispatcher): Dispatcher {
    return dispatcher.compose((dispatch) => (options, handler) => {
      const check: typeof handler.onRequestStart = (controller, context) => {
        handler.onRequestStart?.(controller, context)
        if (!this.#gate.isOpen()) controller.abort(this.#refuse('not-sent'))
      }
      return dispatch(options, Object.create(handler, { onRequestStart: { value: check } }))
    })
  }
}
