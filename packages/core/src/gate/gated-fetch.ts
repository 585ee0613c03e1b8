import { isWriteMethod, WriteGate, type GatedTerm, type RefusalListener } from './write-gate.ts'
import type { WriteGateClosedError } from './write-gate-closed-error.ts'

/** Options of {@link gatedFetch}. */
export interface GatedFetchOptions {
  /** Told of every write that is refused or aborted. */
  readonly onRefusal?: RefusalListener
}

/**
 * A `fetch` whose writes stop with the term, for any HTTP service.
 *
 * Requests other than GET, HEAD, OPTIONS and TRACE reject with a {@link WriteGateClosedError} before `fetch` is called once the
 * gate is closed: by the clock, asked at the call. One that is under way when the gate closes is aborted; its error says
 * `unknown`, because it may have taken effect. Once the answer has begun, the write is left alone. Reads always pass. The gate
 * stays open while a voluntary end drains.
 *
 * This keeps an honest process from writing late; it does not replace a check in the service, because a request that has left
 * may take effect at any later time. Hand the service `term.epoch` for that.
 *
 * @param fetch what sends the requests. @default the global `fetch`, looked up at each call
 *
 * @example
 * ```ts
 * const send = gatedFetch(term)
 * await send('https://billing.example/charges', { method: 'POST', headers: { 'x-epoch': `${term.epoch}` } })
 * ```
 */
export function gatedFetch(
  term: GatedTerm,
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
  options: GatedFetchOptions = {},
): typeof globalThis.fetch {
  const gate = new WriteGate(term, options.onRefusal)
  return async (input, init) => {
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    if (!isWriteMethod(method)) return fetch(input, init)
    const url = input instanceof Request ? input.url : String(input)
    if (!gate.isOpen()) throw gate.refuse({ method, url, outcome: 'not-sent' })
    const own = init?.signal ?? (input instanceof Request ? input.signal : undefined)
    const controller = new AbortController()
    let refusal: WriteGateClosedError | undefined
    const onGateClosed = () => {
      refusal = gate.refuse({ method, url, outcome: 'unknown' })
      controller.abort(refusal)
    }
    gate.signal.addEventListener('abort', onGateClosed, { once: true })
    try {
      // The caller's signal goes on to govern the body of the answer.
      const signal = own ? AbortSignal.any([own, controller.signal]) : controller.signal
      return await fetch(input, { ...init, signal })
    } catch (error) {
      throw refusal ?? error
    } finally {
      gate.signal.removeEventListener('abort', onGateClosed)
    }
  }
}
