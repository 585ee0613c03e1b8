import type { HttpLibrary, PromiseHttpLibrary, RequestContext, ResponseContext } from '@kubernetes/client-node'
import { clientNode } from '#client-node'
import { type WriteGateClosedError } from '@tenure/core'
import { isWriteMethod, onAbort, type WriteGate } from '@tenure/core/internal'
import { stampBody, type Stamp, type StampedBody } from './epoch-stamp.ts'
import { noteFenceRefusal } from './fence-refusal.ts'
import { checkedDispatch } from './gated-dispatch.ts'
import type { SharedDispatcher } from './shared-dispatcher.ts'
import { noteUnknownWrite, noteWrite } from './written-versions.ts'

/** Options of {@link gatedHttpLibrary}. */
export interface GatedHttpOptions {
  readonly gate: WriteGate
  readonly connections: SharedDispatcher
  /** Makes the stamp of a write; undefined for no stamp. */
  readonly stamp: (() => Stamp) | undefined
}

/**
 * Sends requests through `inner`, and writes only while the gate is open.
 *
 * Runs after every middleware, so that no middleware can delay a write past the check or remove its stamp. Checks the gate when
 * it receives a write, and again right before the first byte if the connection allows it, because connecting takes time. Aborts
 * writes in flight when the gate closes. If the server refuses the credentials of a request, repeats it once if the kubeconfig
 * has other credentials by then.
 */
export function gatedHttpLibrary(inner: HttpLibrary, options: GatedHttpOptions): HttpLibrary {
  const attempt = (request: RequestContext) =>
    isWriteMethod(request.getHttpMethod())
      ? new GatedWrite(request, options).send(inner)
      : inner.send(request).toPromise()
  const library: PromiseHttpLibrary = {
    send: async (request) => {
      const response = await attempt(request)
      if (response.httpStatusCode !== UNAUTHORIZED || !(await options.connections.reapply(request))) return response
      await response.body.text()
      return attempt(request)
    },
  }
  return clientNode().wrapHttpLibrary(library)
}

const UNAUTHORIZED = 401
const UNPROCESSABLE = 422

/** One write. Owns its abort controller and the listeners on the signals that it follows until the answer begins. */
class GatedWrite {
  readonly #request: RequestContext
  readonly #options: GatedHttpOptions
  readonly #controller = new AbortController()
  #refusal: WriteGateClosedError | undefined

  constructor(request: RequestContext, options: GatedHttpOptions) {
    this.#request = request
    this.#options = options
  }

  async send(inner: HttpLibrary): Promise<ResponseContext> {
    const { gate } = this.#options
    const request = this.#request
    if (!gate.isOpen()) throw this.#refuse('not-sent')
    const own = request.getSignal()
    const forgetGate = onAbort(gate.signal, () => {
      // Now: the term leaves its versions as soon as the gate is closed.
      noteUnknownWrite(gate, request.getUrl())
      this.#controller.abort(this.#refuse('unknown'))
    })
    const forgetOwn = own && onAbort(own, () => this.#controller.abort(own.reason))
    try {
      request.setSignal(this.#controller.signal)
      const response = await noteWrite(gate, request, await this.#sendStamped(inner))
      return await noteFenceRefusal(gate, request, response)
    } catch (error) {
      noteUnknownWrite(gate, request.getUrl())
      // Whatever error the HTTP library made of it, the refusal is the cause.
      throw this.#refusal ?? error
    } finally {
      forgetGate()
      forgetOwn?.()
      // The request may be sent again.
      if (own !== undefined) request.setSignal(own)
    }
  }

  async #sendStamped(inner: HttpLibrary): Promise<ResponseContext> {
    this.#checkOnConnection()
    const stamped = this.#stamp()
    const response = await inner.send(this.#request).toPromise()
    if (response.httpStatusCode !== UNPROCESSABLE || stamped?.otherwise === undefined) return response
    return this.#sendOtherwise(inner, response, stamped.otherwise)
  }

  /** Makes the connection check the gate again right before the first byte. */
  #checkOnConnection(): void {
    const { gate, connections } = this.#options
    const dispatcher = connections.plain(this.#request.getDispatcher())
    if (dispatcher === undefined) return
    this.#request.setDispatcher(dispatcher.compose(checkedDispatch(gate, () => this.#refuse('not-sent'))))
  }

  #stamp(): StampedBody | undefined {
    const { stamp } = this.#options
    if (stamp === undefined) return undefined
    const request = this.#request
    const headers = request.getHeaders()
    const stamped = stampBody({ method: request.getHttpMethod(), headers, body: request.getBody() }, stamp())
    if (stamped !== undefined) request.setBody(stamped.body)
    return stamped
  }

  async #sendOtherwise(inner: HttpLibrary, refused: ResponseContext, body: string): Promise<ResponseContext> {
    await refused.body.text()
    if (!this.#options.gate.isOpen()) throw this.#refuse('not-sent')
    this.#request.setBody(body)
    return inner.send(this.#request).toPromise()
  }

  #refuse(outcome: 'not-sent' | 'unknown'): WriteGateClosedError {
    this.#refusal ??= this.#options.gate.refuse({
      method: this.#request.getHttpMethod(),
      url: this.#request.getUrl(),
      outcome,
    })
    return this.#refusal
  }
}
