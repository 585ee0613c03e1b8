import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { gatedFetch } from '../../src/gate/gated-fetch.ts'
import { WriteGateClosedError } from '../../src/gate/write-gate-closed-error.ts'
import { Leadership } from '../../src/term/leadership.ts'

/** What became of randomised requests through a gate. */
export interface GateCaseCounts {
  readonly requests: number
  /** Writes that reached the network although the lease was not held. Must be none. */
  readonly letThrough: number
  /** Requests that were refused although they might pass. Must be none. */
  readonly wronglyRefused: number
  /** Writes under way that were not reported as unknown when the gate closed, or were when it did not. Must be none. */
  readonly wrongOutcome: number
  readonly refused: number
  readonly passed: number
  readonly abortedUnderWay: number
}

/** Makes the fence out of order, to see the counts say so. */
export type Sabotage = 'none' | 'trust-the-timer' | 'ignore-the-gate'

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'patch', 'PROPFIND'] as const
const READS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/**
 * Sends `count` requests at random moments of terms that are renewed, run out, stall and are superseded at random, in virtual
 * time. What ought to happen is computed from the history of the term alone.
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
  for (let epoch = 1n; counts.requests < count; epoch++) await runTerm(epoch, random, sabotage, counts)
  return counts
}

async function runTerm(
  epoch: bigint,
  random: () => number,
  sabotage: Sabotage,
  counts: { -readonly [K in keyof GateCaseCounts]: number },
): Promise<void> {
  const clock = new VirtualClock()
  let validUntil = clock.now() + 10 + random() * 1000
  let isClosed = false
  const leadership = new Leadership({ epoch, lease: 'cases', validUntil, clock })
  const isHeld = { none: () => leadership.isHeld(), 'trust-the-timer': () => true, 'ignore-the-gate': () => true }
  const never = new AbortController().signal
  const term = {
    epoch,
    isHeld: isHeld[sabotage],
    gateSignal: sabotage === 'ignore-the-gate' ? never : leadership.gateSignal,
  }
  const pending: { readonly answer: () => void; readonly settled: Promise<unknown> }[] = []
  const isOver = () => isClosed || clock.now() >= validUntil
  const network: typeof fetch = (_input, init) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>()
    init?.signal?.addEventListener('abort', () => reject(init.signal?.reason), { once: true })
    pending.push({ answer: () => resolve(OK), settled: promise.catch(() => {}) })
    reached = true
    return promise
  }
  let reached = false
  const send = gatedFetch(term, network)
  const outcomes: Promise<void>[] = []
  for (let step = 0; step < 40; step++) {
    const dice = random()
    if (dice < 0.06) {
      // A renewal may come too late. An ended term stays ended.
      if (!isOver()) {
        validUntil = Math.max(validUntil, clock.now() + random() * 1000)
        leadership.extend(validUntil)
      }
    } else if (dice < 0.12) {
      await clock.advance(random() * 300)
      isClosed ||= clock.now() >= validUntil
    } else if (dice < 0.18) {
      clock.stall(random() * 1500)
      isClosed ||= clock.now() >= validUntil
    } else if (dice < 0.19) {
      leadership.closeGate('superseded')
      isClosed = true
    } else if (dice < 0.25) {
      pending.splice(Math.floor(random() * pending.length), 1)[0]?.answer()
      await Promise.resolve()
    } else {
      const method = METHODS[Math.floor(random() * METHODS.length)] ?? 'POST'
      const mayPass = READS.has(method) || !isOver()
      counts.requests += 1
      reached = false
      const answer = send('http://service.test/', { method })
      if (reached && !mayPass) counts.letThrough += 1
      if (!reached && mayPass) counts.wronglyRefused += 1
      if (reached) counts.passed += 1
      else counts.refused += 1
      outcomes.push(judge(answer, { wasSent: reached, isRead: READS.has(method) }))
    }
  }
  leadership.closeGate('superseded')
  isClosed = true
  for (const { answer } of pending) answer()
  await Promise.all(outcomes)

  async function judge(
    answer: Promise<Response>,
    { wasSent, isRead }: { wasSent: boolean; isRead: boolean },
  ): Promise<void> {
    try {
      await answer
      if (!wasSent) counts.wrongOutcome += 1
    } catch (error) {
      const outcome = error instanceof WriteGateClosedError ? error.outcome : undefined
      if (wasSent && outcome === 'unknown') counts.abortedUnderWay += 1
      const expected = wasSent ? 'unknown' : 'not-sent'
      const isEarly = wasSent && !leadership.gateSignal.aborted
      if (outcome !== expected || isRead || isEarly) {
        counts.wrongOutcome += 1
      }
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
