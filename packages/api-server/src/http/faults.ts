import type { RequestInfo } from './request-info.ts'

/** Which requests a fault meets. Everything that is left out may be anything. */
export interface FaultMatch {
  readonly user?: string
  /** One verb or several. A watch is `watch`. */
  readonly verb?: string | readonly string[]
  /** The plural, such as `leases`. */
  readonly resource?: string
  readonly namespace?: string
  readonly name?: string
  readonly userAgent?: string | RegExp
}

/** What happens to a request. */
export type FaultEffect =
  /** Wait before the request is handled. */
  | { readonly kind: 'delay-before'; readonly ms: number }
  /** Handle the request, then wait before the answer is sent. */
  | { readonly kind: 'delay-after'; readonly ms: number }
  /** Close the connection; the request is not handled. */
  | { readonly kind: 'drop-before' }
  /** Handle the request, then close the connection: the answer is lost. */
  | { readonly kind: 'drop-after' }
  /** Answer with this status; the request is not handled. */
  | { readonly kind: 'answer'; readonly status: 409 | 429 | 500 | 503; readonly retryAfterSeconds?: number }
  /** Never answer; the request is not handled and the connection stays open. */
  | { readonly kind: 'black-hole' }
  /** Handle the request and never answer; the connection stays open. */
  | { readonly kind: 'black-hole-after' }

/** A fault that waits for requests. */
export interface FaultRule {
  /** Which requests the fault applies to. @default all requests */
  readonly match?: FaultMatch
  /** What happens to a request. */
  readonly effect: FaultEffect
  /** How many requests it meets before it goes away by itself. @default Infinity */
  readonly times?: number
}

/** A fault in force. */
export interface FaultHandle {
  /** How many requests it has met. */
  readonly hits: number
  /** Ends the fault. Watches that it kept silent get what they missed. */
  remove(): void
}

/** What faults need to know of a request. */
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

  /** Puts a fault in force. When several match a request, the oldest counts. */
  add(rule: FaultRule): FaultHandle {
    const fault = new ActiveFault(rule, () => this.#rules.delete(fault))
    this.#rules.add(fault)
    return fault
  }

  /** Sends nothing on matching watches, now and later, with their connections open, until the handle is removed. */
  silenceWatches(match: FaultMatch = {}): FaultHandle {
    const silence = new ActiveSilence(match, () => {
      this.#silences.delete(silence)
      for (const watch of this.#watches) if (matches(match, watch.subject) && !this.#isSilenced(watch)) watch.unhold()
    })
    this.#silences.add(silence)
    for (const watch of this.#watches) this.#holdIfSilenced(watch)
    return silence
  }

  /** Ends matching watches: in an orderly way, or by closing their connections. Returns how many. */
  closeWatches(options: { readonly match?: FaultMatch; readonly abruptly?: boolean } = {}): number {
    const met = [...this.#watches].filter((watch) => matches(options.match ?? {}, watch.subject))
    for (const watch of met) {
      if (options.abruptly === true) watch.destroy()
      else watch.end()
    }
    return met.length
  }

  /** How many matching watches are running. */
  countWatches(match: FaultMatch = {}): number {
    return [...this.#watches].filter((watch) => matches(match, watch.subject)).length
  }

  /** Ends all faults. */
  clear(): void {
    for (const fault of [...this.#rules, ...this.#silences]) fault.remove()
  }

  /** Takes the effect that a request meets. For the server. */
  take(subject: FaultSubject): FaultEffect | undefined {
    for (const fault of this.#rules) if (matches(fault.match, subject)) return fault.hit()
    return undefined
  }

  /** Makes a watch known for as long as it runs; returns how to take it out. For the server. */
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
