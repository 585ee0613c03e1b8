import { onAbort } from '../on-abort.ts'
import { assertKnownKeys } from '../options/known-keys.ts'
import { textOf } from '../text-of.ts'
import { isWriteMethod, WriteGate, type GatedTerm, type RefusalListener } from './write-gate.ts'
import type { WriteGateClosedError } from './write-gate-closed-error.ts'

/** Options of {@link gatedFetch}. */
export interface GatedFetchOptions {
  /** Called with every refused or aborted write. */
  readonly onRefusal?: RefusalListener
}

/**
 * A `fetch` whose writes stop with the term, for any HTTP service.
 *
 * After the gate closes, requests other than GET, HEAD, OPTIONS and TRACE reject with a {@link WriteGateClosedError} before `fetch` is
 * called. The call itself reads the clock. When the gate closes, requests in flight are aborted; their error says `unknown`, because the
 * write may have taken effect. A write whose response has begun is not aborted. Reads always pass. The gate stays open while a voluntary
 * end drains. It recognises a `Request` of any implementation by its `method`. A value that is neither a URL nor a request counts as a
 * write with the method `UNKNOWN`.
 *
 * The gate keeps this process from writing late. It does not replace a check in the service, because a sent request may take effect at
 * any later time. Send `term.epoch` to the service for that check.
 *
 * If the service is an API server of Kubernetes, `term.predecessor.versions` of the next term does not count these writes, and its informers
 * do not wait for them. Writes through `gated()` of `@tenure/kubernetes` count.
 *
 * @throws OptionsError for an option that does not exist.
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
  assertKnownKeys('`gatedFetch()`', options, ['onRefusal'])
  const gate = new WriteGate(term, options.onRefusal)
  return async (input, init) => {
    const { method, url, own } = describeRequest(input, init)
    // Sends the values that were checked, even if a getter would return something else the next time.
    const asked = { ...membersOf(init), method }
    if (!isWriteMethod(method)) return fetch(input, init === undefined && typeof input === 'string' ? undefined : asked)
    if (!gate.isOpen()) throw gate.refuse({ method, url, outcome: 'not-sent' })
    const controller = new AbortController()
    let refusal: WriteGateClosedError | undefined
    const forget = onAbort(gate.signal, () => {
      refusal = gate.refuse({ method, url, outcome: 'unknown' })
      controller.abort(refusal)
    })
    try {
      // The signal of the caller also aborts the body of the response.
      const signal = own ? AbortSignal.any([own, controller.signal]) : controller.signal
      return await fetch(input, { ...asked, signal })
    } catch (error) {
      throw refusal ?? error
    } finally {
      forget()
    }
  }
}

interface DescribedRequest {
  readonly method: string
  readonly url: string
  /** The signal of the caller. */
  readonly own: AbortSignal | undefined
}

/** The request that a call of `fetch` describes. `init` takes precedence over the input. */
function describeRequest(input: unknown, init: RequestInit | undefined): DescribedRequest {
  const { method, url, own } = describeInput(input)
  return { method: textOf(init?.method ?? method), url, own: init?.signal ?? own }
}

interface DescribedInput extends Omit<DescribedRequest, 'method'> {
  readonly method: unknown
}

/**
 * The request that the input of `fetch` alone describes. A `Request` may be of another implementation than the global one, so it is
 * recognised by its members. A value that is neither a URL nor a request counts as a write.
 */
function describeInput(input: unknown): DescribedInput {
  if (typeof input !== 'object' || input === null) {
    return { method: typeof input === 'string' ? 'GET' : UNKNOWN_METHOD, url: textOf(input), own: undefined }
  }
  const [method, url, href, signal] = ['method', 'url', 'href', 'signal'].map((key) => Reflect.get(input, key))
  return {
    method: method ?? (typeof href === 'string' ? 'GET' : UNKNOWN_METHOD),
    url: typeof url === 'string' ? url : textOf(input),
    own: (signal as AbortSignal | undefined) ?? undefined,
  }
}

/** No server knows this method. It marks requests that cannot be understood, which count as writes. */
const UNKNOWN_METHOD = 'UNKNOWN'

/** The members of the second argument that `fetch` reads, including those of a prototype or a getter. */
const INIT_MEMBERS: readonly string[] =
  'body cache credentials dispatcher duplex headers integrity keepalive mode priority redirect referrer referrerPolicy signal window'.split(
    ' ',
  )

function membersOf(init: RequestInit | undefined): RequestInit {
  if (init === undefined || init === null) return {}
  const present = INIT_MEMBERS.filter((key) => key in init).map((key) => [key, Reflect.get(init, key)] as const)
  return { ...init, ...Object.fromEntries(present) }
}
