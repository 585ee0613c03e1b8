import type { RequestInfo } from './request-info.ts'

/** Which requests a fault applies to. An omitted field matches any value. */
export interface FaultMatch {
  readonly user?: string
  /** One or more Kubernetes verbs, such as `update` or `watch`. */
  readonly verb?: string | readonly string[]
  /** The plural, such as `leases`. */
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly userAgent?: string | RegExp
}

/** What happens to a request. */
export type FaultEffect =
  /** Handle the request after a delay. */
  | { readonly kind: 'delay-before'; readonly ms: number }
  /** Handle the request, then send the answer after a delay. */
  | { readonly kind: 'delay-after'; readonly ms: number }
  /** Close the connection without handling the request. */
  | { readonly kind: 'drop-before' }
  /** Handle the request, then close the connection: the answer is lost. */
  | { readonly kind: 'drop-after' }
  /** Answer with this status without handling the request. */
  | { readonly kind: 'answer'; readonly status: 409 | 429 | 500 | 503; readonly retryAfterSeconds?: number }
  /** Never answer and do not handle the request. The connection stays open. */
  | { readonly kind: 'black-hole' }
  /** Handle the request, but never answer. The connection stays open. */
  | { readonly kind: 'black-hole-after' }

/** A fault to inject into requests. */
export interface FaultRule {
  /** Which requests the fault applies to. @default all requests */
  readonly match?: FaultMatch
  /** What happens to a request. */
  readonly effect: FaultEffect
  /** The number of requests after which the fault removes itself. @default Infinity */
  readonly times?: number
}

/** An active fault. */
export interface FaultHandle {
  /** The number of requests or watches that the fault has affected. */
  readonly hits: number
  /** Removes the fault. Silenced watches receive the events that they missed. */
  remove(): void
}

/** The properties of a request that faults match. */
export interface FaultSubject {
  readonly user: string
  readonly userAgent: string
  readonly info: RequestInfo
}

/** A running watch, as faults see it. */
export interface FaultableWatch {
  readonly subject: FaultSubject
  hold(): void
  unhold(): void
  /** Ends the answer in an orderly way. */
  end(): void
  /** Closes the connection. */
  destroy(): void
}

/** Makes requests and watches fail on demand. */
export class Faults {
  readonly #rules = new Set<ActiveFault>()
  readonly #silences = new Set<ActiveSilence>()
  readonly #watches = new Set<FaultableWatch>()

  /** Adds a fault. If several faults match a request, the oldest applies. */
  add(rule: FaultRule): FaultHandle {
    const fault = new ActiveFault(rule, () => this.#rules.delete(fault))
    this.#rules.add(fault)
    return fault
  }

  /** Silences matching watches, current and future, until the handle is removed. Their connections stay open. */
  silenceWatches(match: FaultMatch = {}): FaultHandle {
    const silence = new ActiveSilence(match, () => {
      this.#silences.delete(silence)
      for (const watch of this.#watches) if (matches(match, watch.subject) && !this.#isSilenced(watch)) watch.unhold()
    })
    this.#silences.add(silence)
    for (const watch of this.#watches) this.#holdIfSilenced(watch)
    return silence
  }

  /** Ends matching watches in an orderly way, or abruptly by closing their connections. Returns their number. */
  closeWatches(options: { readonly match?: FaultMatch; readonly abruptly?: boolean } = {}): number {
    const met = [...this.#watches].filter((watch) => matches(options.match ?? {}, watch.subject))
    for (const watch of met) {
      if (options.abruptly === true) watch.destroy()
      else watch.end()
    }
    return met.length
  }

  /** The number of matching watches. */
  countWatches(match: FaultMatch = {}): number {
    return [...this.#watches].filter((watch) => matches(match, watch.subject)).length
  }

  /** Removes all faults. */
  clear(): void {
    for (const fault of [...this.#rules, ...this.#silences]) fault.remove()
  }

  /** Returns the effect for a request and counts it. Called by the server. */
  take(subject: FaultSubject): FaultEffect | undefined {
    for (const fault of this.#rules) if (matches(fault.match, subject)) return fault.hit()
    return undefined
  }

  /** Registers a running watch. Returns a function that removes it. Called by the server. */
  track(watch: FaultableWatch): () => void {
    this.#watches.add(watch)
    this.#holdIfSilenced(watch)
    return () => this.#watches.delete(watch)
  }

  #holdIfSilenced(watch: FaultableWatch): void {
    for (const silence of this.#silences) {
      if (!matches(silence.match, watch.subject)) continue
      silence.hits += 1
      watch.hold()
    }
  }

  #isSilenced(watch: FaultableWatch): boolean {
    return [...this.#silences].some((silence) => matches(silence.match, watch.subject))
  }
}

class ActiveFault implements FaultHandle {
  readonly match: FaultMatch
  readonly #effect: FaultEffect
  readonly #times: number
  readonly #onRemove: () => void
  hits = 0

  constructor(rule: FaultRule, onRemove: () => void) {
    this.match = rule.match ?? {}
    this.#effect = rule.effect
    this.#times = rule.times ?? Number.POSITIVE_INFINITY
    this.#onRemove = onRemove
  }

  hit(): FaultEffect {
    this.hits += 1
    if (this.hits >= this.#times) this.remove()
    return this.#effect
  }

  remove(): void {
    this.#onRemove()
  }
}

class ActiveSilence implements FaultHandle {
  readonly match: FaultMatch
  readonly #onRemove: () => void
  hits = 0

  constructor(match: FaultMatch, onRemove: () => void) {
    this.match = match
    this.#onRemove = onRemove
  }

  remove(): void {
    this.#onRemove()
  }
}

function matches(match: FaultMatch, { user, userAgent, info }: FaultSubject): boolean {
  const { target } = info
  const isVerb = match.verb === undefined || [match.verb].flat().includes(info.verb)
  return (
    isVerb &&
    isOrAny(match.user, user) &&
    isOrAny(match.resource, target?.resource) &&
    isOrAny(match.namespace, target?.namespace) &&
    isOrAny(match.name, target?.name) &&
    isAgent(match.userAgent, userAgent)
  )
}

function isOrAny(wanted: string | undefined, actual: string | undefined): boolean {
  return wanted === undefined || wanted === actual
}

function isAgent(wanted: string | RegExp | undefined, actual: string): boolean {
  return typeof wanted === 'object' ? wanted.test(actual) : isOrAny(wanted, actual)
}
