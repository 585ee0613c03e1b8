import { getEventListeners } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { LeadershipEndedError } from '../../src/election/leadership-ended-error.ts'
import { gatedFetch } from '../../src/gate/gated-fetch.ts'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { runGateCases, seededRandom } from './gate-cases.ts'

const URL_OF_SERVICE = 'http://service.test/things/1'

/** A term whose gate is closed by hand. */
function openTerm() {
  const gate = new AbortController()
  let held = true
  return {
    epoch: 42n,
    isHeld: () => held,
    gateSignal: gate.signal,
    close: () => gate.abort(new LeadershipEndedError('superseded', 42n)),
    runOut: () => void (held = false),
  }
}

/** A network whose answers are held by the test. */
function heldNetwork() {
  const sent: { readonly init: RequestInit | undefined; readonly answer: (response: Response) => void }[] = []
  const fetch: typeof globalThis.fetch = (_input, init) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    sent.push({ init, answer: resolve })
    return promise
  }
  return { sent, fetch }
}

async function refusalOf(promise: Promise<unknown>): Promise<WriteGateClosedError> {
  const [outcome] = await Promise.allSettled([promise])
  if (outcome.status === 'rejected' && outcome.reason instanceof WriteGateClosedError) return outcome.reason
  throw new Error(`Expected a WriteGateClosedError, got ${outcome.status}`)
}

describe('gatedFetch()', () => {
  test.each(['POST', 'PUT', 'PATCH', 'DELETE', 'delete', 'PROPFIND'])(
    'refuses a %s on an ended term, before anything is sent',
    async (method) => {
      const term = openTerm()
      const network = heldNetwork()
      term.close()
      const refusal = await refusalOf(gatedFetch(term, network.fetch)(URL_OF_SERVICE, { method }))
      expect(refusal).toMatchObject({ code: 'WRITE_GATE_CLOSED', epoch: 42n, method, outcome: 'not-sent' })
      expect(refusal.cause).toMatchObject({ code: 'LEADERSHIP_ENDED' })
      expect(network.sent).toEqual([])
    },
  )

  test('refuses a write by the clock, though no timer has fired', async () => {
    const term = openTerm()
    const network = heldNetwork()
    term.runOut()
    await refusalOf(gatedFetch(term, network.fetch)(new Request(URL_OF_SERVICE, { method: 'POST' })))
    expect(network.sent).toEqual([])
  })

  test.each<[string, unknown, RequestInit?]>([
    ['a Request of another implementation', { method: 'POST', url: URL_OF_SERVICE }],
    ['a URL of another implementation, and a method', { href: URL_OF_SERVICE }, { method: 'PUT' }],
    ['an object that may be anything', { toString: () => URL_OF_SERVICE }],
    ['a method that is no text', URL_OF_SERVICE, { method: Object('POST') as string }],
    ['a method that is inherited', URL_OF_SERVICE, Object.create({ method: 'DELETE' }) as RequestInit],
  ])('takes what it does not know for a write: %s', async (_what, input, init) => {
    const term = openTerm()
    const network = heldNetwork()
    term.runOut()
    await refusalOf(gatedFetch(term, network.fetch)(input as string, init))
    expect(network.sent).toEqual([])
  })

  test('knows a read of another implementation', async () => {
    const network = heldNetwork()
    const term = openTerm()
    term.close()
    const send = gatedFetch(term, network.fetch)
    const foreign: readonly unknown[] = [{ method: 'GET', url: URL_OF_SERVICE }, { href: URL_OF_SERVICE }]
    const answers = foreign.map((input) => send(input as string))
    for (const { answer } of network.sent) answer(new Response())
    expect(await Promise.all(answers)).toHaveLength(2)
  })

  test('hands on options that are inherited or come from getters, as they were when it looked', async () => {
    const network = heldNetwork()
    let reads = 0
    const init = Object.create(
      { body: 'x', headers: { a: 'b' } },
      { method: { get: () => (reads++ === 0 ? 'POST' : 'GET') } },
    )
    const answer = gatedFetch(openTerm(), network.fetch)(URL_OF_SERVICE, init)
    network.sent[0]?.answer(new Response())
    await answer
    expect(network.sent[0]?.init).toMatchObject({ method: 'POST', body: 'x', headers: { a: 'b' } })
  })

  test('keeps user, password and query of the address out of the refusal', async () => {
    const term = openTerm()
    term.close()
    const url = 'https://user:password@service.test/things?token=t#part'
    const refusal = await refusalOf(gatedFetch(term, heldNetwork().fetch)(url, { method: 'POST' }))
    expect(refusal.url).toBe('https://service.test/things')
    expect(refusal.message).toContain('POST https://service.test/things was not sent')
  })

  test.each(['GET', 'HEAD', 'OPTIONS'])('lets a %s pass after the term, and leaves it alone', async (method) => {
    const term = openTerm()
    const network = heldNetwork()
    term.close()
    const answer = gatedFetch(term, network.fetch)(URL_OF_SERVICE, { method })
    network.sent[0]?.answer(Response.json({ fine: true }))
    expect(await (await answer).json()).toEqual({ fine: true })
  })

  test('aborts a write that is under way when the gate closes, and says that its outcome is unknown', async () => {
    const term = openTerm()
    const network = heldNetwork()
    const refusals: WriteGateClosedError[] = []
    const send = gatedFetch(term, network.fetch, { onRefusal: (refusal) => void refusals.push(refusal) })
    const refused = refusalOf(send(URL_OF_SERVICE, { method: 'PUT' }))
    term.close()
    const refusal = await refused
    expect(refusal.outcome).toBe('unknown')
    expect(refusals).toEqual([refusal])
  })

  test('leaves a write alone once it is answered, and nothing on the signal of the gate', async () => {
    const term = openTerm()
    const network = heldNetwork()
    const answer = gatedFetch(term, network.fetch)(URL_OF_SERVICE, { method: 'POST' })
    network.sent[0]?.answer(new Response())
    const response = await answer
    expect(getEventListeners(term.gateSignal, 'abort')).toEqual([])
    term.close()
    expect(network.sent[0]?.init?.signal?.aborted).toBe(false)
    expect(response.ok).toBe(true)
  })

  test("still hears the caller's own signal", async () => {
    const network = heldNetwork()
    const own = new AbortController()
    const answer = gatedFetch(openTerm(), network.fetch)(URL_OF_SERVICE, { method: 'POST', signal: own.signal })
    own.abort(new Error('enough'))
    await expect(answer).rejects.toThrow('enough')
  })
})

describe('A request', () => {
  /** Sends requests, and notes what the network gets. It answers at once. */
  function noted(term: Parameters<typeof gatedFetch>[0] = openTerm()) {
    const calls: unknown[][] = []
    const send = gatedFetch(term, (...args) => (calls.push(args), Promise.resolve(new Response())))
    return { calls, send }
  }

  test('for an address alone is a read, and is sent as it is', async () => {
    const term = openTerm()
    term.close()
    const { calls, send } = noted(term)
    await send(URL_OF_SERVICE)
    expect(calls).toEqual([[URL_OF_SERVICE, undefined]])
  })

  test('that reads keeps its options and its signal, with the method that was checked', async () => {
    const { calls, send } = noted()
    const { signal } = new AbortController()
    const request = new Request(URL_OF_SERVICE, { method: 'HEAD' })
    const url = new URL(URL_OF_SERVICE)
    await send(URL_OF_SERVICE, { signal, cache: 'no-store' })
    await send(request)
    await send(url)
    await send(request, { method: 'GET' })
    expect(calls).toEqual([
      [URL_OF_SERVICE, { signal, cache: 'no-store', method: 'GET' }],
      [request, { method: 'HEAD' }],
      [url, { method: 'GET' }],
      [request, { method: 'GET' }],
    ])
    expect(calls[0]?.[1]).toHaveProperty('signal', signal)
    expect(Object.keys(calls[0]?.[1] ?? {}).sort()).toEqual(['cache', 'method', 'signal'])
  })

  test('has all options of `fetch`, wherever they come from', async () => {
    const names =
      'body cache credentials dispatcher duplex headers integrity keepalive mode priority redirect referrer referrerPolicy window'
    const members = Object.fromEntries(names.split(' ').map((name) => [name, `its ${name}`]))
    const { calls, send } = noted()
    await send(URL_OF_SERVICE, Object.create({ ...members, method: 'PUT' }) as RequestInit)
    expect(calls[0]?.[1]).toEqual({ ...members, method: 'PUT', signal: expect.any(AbortSignal) })
  })

  test('may have `null` for its options', async () => {
    const { calls, send } = noted()
    await send(URL_OF_SERVICE, null as unknown as RequestInit)
    await send(new Request(URL_OF_SERVICE, { method: 'POST' }), null as unknown as RequestInit)
    expect(calls.map(([, init]) => init)).toEqual([
      { method: 'GET' },
      { method: 'POST', signal: expect.any(AbortSignal) },
    ])
  })

  test.each<[unknown, string, string]>([
    [new Request(URL_OF_SERVICE, { method: 'POST' }), 'POST', URL_OF_SERVICE],
    [{ method: 'PATCH', url: URL_OF_SERVICE }, 'PATCH', URL_OF_SERVICE],
    [{ method: 'PUT', href: URL_OF_SERVICE, toString: () => '/text' }, 'PUT', '/text'],
    [{ toString: () => '/text' }, 'UNKNOWN', '/text'],
    [{ href: 7, toString: () => '/text' }, 'UNKNOWN', '/text'],
    [{ url: 7, toString: () => '/text' }, 'UNKNOWN', '/text'],
    [7, 'UNKNOWN', '7'],
    [null, 'UNKNOWN', 'null'],
  ])('%o is refused as one with this method and address', async (input, method, url) => {
    const term = openTerm()
    term.close()
    const { calls, send } = noted(term)
    expect(await refusalOf(send(input as string))).toMatchObject({ method, url, outcome: 'not-sent' })
    expect(calls).toEqual([])
  })

  test('is aborted by its own signal, also where a `Request` has it', async () => {
    const own = new AbortController()
    const network = heldNetwork()
    const request = new Request(URL_OF_SERVICE, { method: 'POST', signal: own.signal })
    const answer = gatedFetch(openTerm(), network.fetch)(request)
    own.abort(new Error('enough'))
    await expect(answer).rejects.toThrow('enough')
  })

  test('has the signal of the options rather than that of its `Request`', async () => {
    const own = new AbortController()
    const { calls, send } = noted()
    const request = new Request(URL_OF_SERVICE, { method: 'POST', signal: own.signal })
    await send(request, { signal: new AbortController().signal })
    own.abort()
    expect(calls[0]?.[1]).toMatchObject({ signal: { aborted: false } })
  })

  test('fails with the error of the network, unless the gate has closed', async () => {
    const term = openTerm()
    const failing = gatedFetch(term, () => Promise.reject(new TypeError('fetch failed')))
    await expect(failing(URL_OF_SERVICE, { method: 'POST' })).rejects.toThrow('fetch failed')
    const late = gatedFetch(term, () => (term.close(), Promise.reject(new TypeError('fetch failed'))))
    expect(await refusalOf(late(URL_OF_SERVICE, { method: 'POST' }))).toMatchObject({ outcome: 'unknown' })
  })

  test('is sent by the `fetch` that is global at that moment', async () => {
    const send = gatedFetch(openTerm())
    const fetch = vi.fn<typeof globalThis.fetch>(async () => new Response())
    vi.stubGlobal('fetch', fetch)
    await send(URL_OF_SERVICE, { method: 'DELETE' })
    vi.unstubAllGlobals()
    expect(fetch.mock.calls).toEqual([[URL_OF_SERVICE, { method: 'DELETE', signal: expect.any(AbortSignal) }]])
  })
})

test('gatedFetch() refuses options that it does not know', () => {
  const create = () => gatedFetch(openTerm(), undefined, { onRefuse: () => {} } as object)
  expect(create).toThrow('Unknown option `onRefuse` in `gatedFetch()`; did you mean `onRefusal`?')
})

describe('randomised requests in virtual time', () => {
  test('none is let through outside of the term, none refused within it', async () => {
    const counts = await runGateCases(20_000, seededRandom(7))
    expect(counts).toMatchObject({ letThrough: 0, wronglyRefused: 0, wrongOutcome: 0 })
    expect(counts.refused).toBeGreaterThan(2000)
    expect(counts.passed).toBeGreaterThan(2000)
    expect(counts.abortedUnderWay).toBeGreaterThan(500)
  })

  test.each(['trust-the-timer', 'ignore-the-gate'] as const)(
    'the count sees a gate that would %s',
    async (sabotage) => {
      expect((await runGateCases(5000, seededRandom(7), sabotage)).letThrough).toBeGreaterThan(50)
    },
  )
})
