import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { gatedFetch } from '../../src/gate/gated-fetch.ts'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { Leadership } from '../../src/term/leadership.ts'

/** The outcomes of random requests through a gate. */
export interface GateCaseCounts {
  readonly requests: number
  /** Writes that reached the network although the lease was not held. Must be 0. */
  readonly letThrough: number
  /** Requests that were refused although they were allowed. Must be 0. */
  readonly wronglyRefused: number
  /** Writes in flight with a wrong outcome: not `unknown` after the gate closed, or `unknown` before. Must be 0. */
  readonly wrongOutcome: number
  readonly refused: number
  readonly passed: number
  readonly abortedUnderWay: number
}

/** A defect of the gate that the counts must show. */
export type Sabotage = 'none' | 'trust-the-timer' | 'ignore-the-gate'

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'patch', 'PROPFIND'] as const
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends `count` requests at random moments of terms that are renewed, expire, stall and are superseded at random, in virtual time.
 * Computes the expected outcomes from the history of the term alone.
 */
export async function runGateCases(
  count: number,
  random: () => number,
  sabotage: Sabotage = 'none',
): Promise<GateCaseCounts> {
  const counts = {
    requests: 0,
    letThrough: 0,
    wronglyRefused: 0,
    wrongOutcome: 0,
    refused: 0,
    passed: 0,
    abortedUnderWay: 0,
  }
  for (let epoch = 1n; counts.requests < count; epoch++) await new GateCase({ epoch, random, sabotage, counts }).run()
  return counts
}

interface GateCaseSetup {
  readonly epoch: bigint
  readonly random: () => number
  readonly sabotage: Sabotage
  readonly counts: { -readonly [K in keyof GateCaseCounts]: number }
}

/** One term with a gate, a network that answers on request, and the expected outcomes. */
class GateCase {
  readonly #setup: GateCaseSetup
  readonly #clock = new VirtualClock()
  readonly #leadership: Leadership
  readonly #send: typeof fetch
  readonly #pending: (() => void)[] = []
  readonly #outcomes: Promise<void>[] = []
  #validUntil: number
  #isClosed = false
  /** The number of requests that reached the network. */
  #reached = 0

  constructor(setup: GateCaseSetup) {
    const { epoch, random, sabotage } = setup
    this.#setup = setup
    this.#validUntil = this.#clock.now() + 10 + random() * 1000
    const leadership = new Leadership({ epoch, lease: 'cases', validUntil: this.#validUntil, clock: this.#clock })
    this.#leadership = leadership
    const term = {
      epoch,
      isHeld: sabotage === 'none' ? () => leadership.isHeld() : () => true,
      gateSignal: sabotage === 'ignore-the-gate' ? new AbortController().signal : leadership.gateSignal,
    }
    this.#send = gatedFetch(term, (_input, init) => this.#receive(init))
  }

  async run(): Promise<void> {
    for (let step = 0; step < 40; step++) await this.#step(this.#setup.random())
    this.#closeGate()
    for (const answer of this.#pending) answer()
    await Promise.all(this.#outcomes)
  }

  async #step(dice: number): Promise<void> {
    const { random } = this.#setup
    if (dice < 0.06) this.#renew()
    else if (dice < 0.12) await this.#pass(() => this.#clock.advance(random() * 300))
    else if (dice < 0.18) await this.#pass(async () => this.#clock.stall(random() * 1500))
    else if (dice < 0.19) this.#closeGate()
    else if (dice < 0.25) await this.#answerOne()
    else this.#request()
  }

  get #isOver(): boolean {
    return this.#isClosed || this.#clock.now() >= this.#validUntil
  }

  /** Renews the term, unless it has already ended. */
  #renew(): void {
    if (this.#isOver) return
    this.#validUntil = Math.max(this.#validUntil, this.#clock.now() + this.#setup.random() * 1000)
    this.#leadership.extend(this.#validUntil)
  }

  async #pass(time: () => Promise<void>): Promise<void> {
    await time()
    this.#isClosed = this.#isOver
  }

  #closeGate(): void {
    this.#leadership.closeGate('superseded')
    this.#isClosed = true
  }

  async #answerOne(): Promise<void> {
    this.#pending.splice(Math.floor(this.#setup.random() * this.#pending.length), 1)[0]?.()
    await Promise.resolve()
  }

  #request(): void {
    const { random, counts } = this.#setup
    const method = METHODS[Math.floor(random() * METHODS.length)] ?? 'POST'
    const isRead = READS.has(method)
    const mayPass = isRead || !this.#isOver
    const reachedBefore = this.#reached
    const answer = this.#send('http://service.test/', { method })
    const wasSent = this.#reached > reachedBefore
    counts.requests += 1
    counts[wasSent ? 'passed' : 'refused'] += 1
    if (wasSent !== mayPass) counts[wasSent ? 'letThrough' : 'wronglyRefused'] += 1
    this.#outcomes.push(this.#judge(answer, { wasSent, isRead }))
  }

  #receive(init: RequestInit | undefined): Promise<Response> {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    this.#pending.push(() => resolve(OK))
    this.#reached += 1
    return promise
  }

  async #judge(answer: Promise<Response>, { wasSent, isRead }: { wasSent: boolean; isRead: boolean }): Promise<void> {
    const { counts } = this.#setup
    try {
      await answer
      if (!wasSent) counts.wrongOutcome += 1
    } catch (error) {
      const outcome = error instanceof WriteGateClosedError ? error.outcome : undefined
      if (wasSent && outcome === 'unknown') counts.abortedUnderWay += 1
      const isExpected = wasSent ? outcome === 'unknown' && this.#leadership.gateSignal.aborted : outcome === 'not-sent'
      if (isRead || !isExpected) counts.wrongOutcome += 1
    }
  }
}

const OK = new Response()

/** A repeatable source of numbers in [0, 1): mulberry32. */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
