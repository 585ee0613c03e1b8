import { LockRequestError } from '@tenure/core'
import { onAbort, textOf } from '@tenure/core/internal'
import type { RequestFault } from '../faults.ts'
import type { Run } from '../run.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** A request from a process to a server. */
export interface NetworkRequest<T> {
  readonly process: SimulatedProcess
  readonly server: ServerState
  /** A description of the request, for the trace. */
  readonly what: string
  /** Applies the request on the server. Throws the refusal of the server. */
  readonly apply: () => T
  readonly signal: AbortSignal | undefined
}

/** The part of a server that the network needs. */
export interface ServerState {
  /** The server is down until then. */
  readonly downUntil: number
  /** Throws to refuse a request before it takes effect. */
  readonly admit: (process: SimulatedProcess) => void
}

/** A server that is always up and admits every client. */
export const OPEN: ServerState = { downUntil: 0, admit: () => {} }

const MAX_HOP_MS = 12

/** The latency of a request or an answer without faults, in milliseconds: mostly a few. */
export function latencyMs(random: () => number): number {
  return 0.5 + MAX_HOP_MS * random() ** 3
}

/** Delivers requests and answers: in time, late, twice or never. */
export class Network {
  readonly #run: Run
  readonly #faultOf: (process: SimulatedProcess) => RequestFault | undefined

  /** `faultOf` returns the fault of a request that a process sends now. */
  constructor(run: Run, faultOf: (process: SimulatedProcess) => RequestFault | undefined) {
    this.#run = run
    this.#faultOf = faultOf
  }

  /** Sends a request. The promise settles with the answer or when `signal` aborts. It may never settle. */
  request<T>({ process, server, what, apply, signal }: NetworkRequest<T>): Promise<T> {
    const run = this.#run
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (!process.isAlive) return promise
    if (signal?.aborted === true) {
      reject(new LockRequestError('unreachable', `${what}: aborted before it was sent`, { cause: signal.reason }))
      return promise
    }
    const forget = signal && onAbort(signal, () => reject(aborted(what, signal)))
    const settle = (outcome: () => void) => {
      forget?.()
      outcome()
    }
    this.#send(process, server, what, apply, (answer) =>
      settle(answer.kind === 'value' ? () => resolve(answer.value) : () => reject(answer.error)),
    )
    if (run.trace.isVerbose) run.trace.show(run.now, process.identity, `sends: ${what}`)
    return promise
  }

  #send<T>(
    process: SimulatedProcess,
    server: ServerState,
    what: string,
    apply: () => T,
    answered: (answer: Answer<T>) => void,
  ): void {
    const run = this.#run
    const { random } = run
    const fault = this.#faultOf(process)
    if (fault !== undefined) run.say(process.identity, `${fault}: ${what}`)
    if (process.isCutOff || fault === 'lost-request') return
    const there = delayMs(fault, run)
    const back = delayMs(fault, run)
    const arrive = (after: number) =>
      run.agenda.add(run.now + after, () => {
        const answer = this.#perform(process, server, what, apply, fault)
        if (fault === 'lost-answer') return
        process.post(run.now + back, () => process.isCutOff || answered(answer), 'network')
      })
    arrive(there)
    if (fault === 'duplicate') arrive(random() * 3 * there)
  }

  #perform<T>(
    process: SimulatedProcess,
    server: ServerState,
    what: string,
    apply: () => T,
    fault: RequestFault | undefined,
  ): Answer<T> {
    const run = this.#run
    run.trace.note(run.now, process.replica, 3)
    try {
      if (run.now < server.downUntil) {
        throw new LockRequestError(
          run.random() < 0.5 ? 'unreachable' : 'unknown-outcome',
          `${what}: the server is down`,
        )
      }
      server.admit(process)
      if (fault === 'conflict') throw new LockRequestError('conflict', `${what}: 409 Conflict`)
      if (fault === 'throttled') {
        throw new LockRequestError('throttled', `${what}: 429 Too Many Requests`, {
          retryAfterMs: 1000 * Math.floor(run.random() * 3),
        })
      }
      if (fault === 'server-error') {
        if (run.random() < 0.5) apply()
        throw new LockRequestError('unknown-outcome', `${what}: 500 Internal Server Error`)
      }
      return { kind: 'value', value: apply() }
    } catch (error) {
      if (run.trace.isVerbose) run.trace.show(run.now, process.identity, `request failed: ${textOf(error)}`)
      return { kind: 'error', error }
    }
  }
}

type Answer<T> = { readonly kind: 'value'; readonly value: T } | { readonly kind: 'error'; readonly error: unknown }

function delayMs(fault: RequestFault | undefined, run: Run): number {
  const { random } = run
  if (fault === 'slow-request' && random() < 0.7) return random() * 2 * run.timing.requestTimeoutMs
  return latencyMs(random)
}

function aborted(what: string, signal: AbortSignal | undefined): LockRequestError {
  return new LockRequestError('unknown-outcome', `${what}: aborted while it was in flight`, { cause: signal?.reason })
}
