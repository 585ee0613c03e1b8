import { LockRequestError, textOf } from '@tenure/core'
import type { RequestFault } from '../faults.ts'
import type { Simulation } from '../simulation.ts'
import type { SimulatedProcess } from './simulated-process.ts'

/** A request from a process to a server. */
export interface NetworkRequest<T> {
  readonly process: SimulatedProcess
  readonly server: ServerState
  /** What is requested, for the trace. */
  readonly what: string
  /** Takes effect on the server. Throws what the server refuses with. */
  readonly apply: () => T
  readonly signal: AbortSignal | undefined
}

/** What the network has to know of a server. */
export interface ServerState {
  /** The server is gone until then. */
  readonly downUntil: number
  /** Refuses a request before it takes effect, with what this throws. */
  readonly admit: (process: SimulatedProcess) => void
}

const LONGEST_HOP_MS = 12

/** How long a request is under way, each way, where nothing disturbs it: mostly a few milliseconds. */
export function latencyMs(random: () => number): number {
  return 0.5 + LONGEST_HOP_MS * random() ** 3
}

/** Carries requests to servers and answers back, late, twice or not at all. */
export class Network {
  readonly #simulation: Simulation

  constructor(simulation: Simulation) {
    this.#simulation = simulation
  }

  /** Sends a request. The promise settles with its answer, or when `signal` aborts; it may never settle. */
  request<T>({ process, server, what, apply, signal }: NetworkRequest<T>): Promise<T> {
    const simulation = this.#simulation
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    if (!process.isAlive) return promise
    const onAbort = () => reject(aborted(what, signal))
    if (signal?.aborted === true) {
      reject(new LockRequestError('unreachable', `${what}: aborted before it was sent`, { cause: signal.reason }))
      return promise
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    const settle = (outcome: () => void) => {
      signal?.removeEventListener('abort', onAbort)
      outcome()
    }
    this.#send(process, server, what, apply, (answer) =>
      settle(answer.kind === 'value' ? () => resolve(answer.value) : () => reject(answer.error)),
    )
    if (simulation.trace.isVerbose) simulation.trace.show(simulation.now, process.identity, `sends: ${what}`)
    return promise
  }

  #send<T>(
    process: SimulatedProcess,
    server: ServerState,
    what: string,
    apply: () => T,
    answered: (answer: Answer<T>) => void,
  ): void {
    const simulation = this.#simulation
    const { random } = simulation
    const fault = simulation.weather.requestFault(process)
    if (fault !== undefined) simulation.say(process.identity, `${fault}: ${what}`)
    if (process.isCutOff || fault === 'lost-request') return
    const there = delayMs(fault, simulation)
    const back = delayMs(fault, simulation)
    const arrive = (after: number) =>
      simulation.agenda.add(simulation.now + after, () => {
        const answer = this.#perform(process, server, what, apply, fault)
        if (fault === 'lost-answer') return
        process.post(simulation.now + back, () => process.isCutOff || answered(answer), 'network')
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
    const simulation = this.#simulation
    simulation.trace.note(simulation.now, process.replica, 3)
    try {
      if (simulation.now < server.downUntil) {
        throw new LockRequestError(
          simulation.random() < 0.5 ? 'unreachable' : 'unknown-outcome',
          `${what}: the server is not there`,
        )
      }
      server.admit(process)
      if (fault === 'conflict') throw new LockRequestError('conflict', `${what}: 409 Conflict`)
      if (fault === 'throttled') {
        throw new LockRequestError('throttled', `${what}: 429 Too Many Requests`, {
          retryAfterMs: 1000 * Math.floor(simulation.random() * 3),
        })
      }
      if (fault === 'server-error') {
        if (simulation.random() < 0.5) apply()
        throw new LockRequestError('unknown-outcome', `${what}: 500 Internal Server Error`)
      }
      return { kind: 'value', value: apply() }
    } catch (error) {
      if (simulation.trace.isVerbose)
        simulation.trace.show(simulation.now, process.identity, `is refused: ${textOf(error)}`)
      return { kind: 'error', error }
    }
  }
}

type Answer<T> = { readonly kind: 'value'; readonly value: T } | { readonly kind: 'error'; readonly error: unknown }

function delayMs(fault: RequestFault | undefined, simulation: Simulation): number {
  const { random } = simulation
  if (fault === 'slow-request' && random() < 0.7) return random() * 2 * simulation.timing.requestTimeoutMs
  return latencyMs(random)
}

function aborted(what: string, signal: AbortSignal | undefined): LockRequestError {
  return new LockRequestError('unknown-outcome', `${what}: aborted while it was under way`, { cause: signal?.reason })
}
