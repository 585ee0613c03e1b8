import { type CandidateAttributes, areAttributes } from '../election/rules/strategy.ts'
import type { Clock } from '../ports/clock.ts'
import type { Logger } from '../ports/logger.ts'
import { textOf } from '../text-of.ts'
import type { LeaseOptions } from './lease-options.ts'

/** Options of {@link LiveAttributes}. */
interface LiveAttributesOptions {
  readonly lease: Pick<LeaseOptions, 'name' | 'attributes'>
  readonly clock: Clock
  readonly logger: Logger
}

/** The election asks at every event. */
const KEPT_MS = 1000

/** The attributes of this replica. A function is asked once a second at most. While it fails, its last good answer counts. */
export class LiveAttributes {
  readonly #options: LiveAttributesOptions
  #last: CandidateAttributes | undefined
  #askedAt = -Infinity
  #hasWarned = false

  constructor(options: LiveAttributesOptions) {
    this.#options = options
  }

  /** The attributes now; undefined if there are none. */
  get current(): CandidateAttributes | undefined {
    const { lease, clock } = this.#options
    const { attributes } = lease
    if (typeof attributes !== 'function') return attributes
    const now = clock.now()
    if (now - this.#askedAt >= KEPT_MS) {
      this.#askedAt = now
      this.#ask(attributes)
    }
    return this.#last
  }

  #ask(attributes: () => CandidateAttributes): void {
    try {
      const answer = attributes()
      if (areAttributes(answer)) this.#last = { ...answer }
      else this.#warn('returned no flat object of texts, numbers and booleans of at most 512 characters as JSON')
    } catch (err) {
      this.#warn(`failed: ${textOf(err)}`)
    }
  }

  #warn(what: string): void {
    if (this.#hasWarned) return
    this.#hasWarned = true
    const { lease, logger } = this.#options
    const fields = { lease: lease.name, event: 'attributes-unusable' }
    logger.warn(fields, `\`lease.attributes\` of ${lease.name} ${what}. Its last good answer counts`)
  }
}
