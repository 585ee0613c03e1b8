import { type Extension, OptionsError, type Term, TermEndedError } from '@tenure/core'
import type { Registry } from 'prom-client'
import { ServedRegistry } from './served-registry.ts'

/** The registry of every run; undefined after its end. */
const registryOf = new WeakMap<Term, ServedRegistry | undefined>()

/**
 * The metrics registry of a run of a controller. `/metrics` serves its metrics until the run has ended. The next run defines its metrics
 * again.
 *
 * @example
 * ```ts
 * const swept = new Counter({ name: 'janitor_swept_total', help: 'Swept.', registers: [metrics(term)] })
 * ```
 * @throws OptionsError when the manager uses neither {@link createOps} nor {@link TermRegistries}. @throws TermEndedError when the run has ended.
 */
export function metrics(term: Term): Registry {
  const registry = registryOf.get(term)
  if (registry !== undefined) return registry
  if (registryOf.has(term)) throw registryEnded(term)
  throw new OptionsError(
    `Expected the manager of controller \`${term.controller}\` to have registries for its terms: give it ` +
      '`use(createOps())`, or `use(new TermRegistries())`',
  )
}

/**
 * Gives every run of every controller its own metrics registry, which ends with the run. {@link createOps} includes it. Use it alone if
 * controllers call `metrics(term)` and nothing serves their metrics.
 */
export class TermRegistries implements Extension {
  readonly name = 'term-registries'
  readonly #live = new Map<Term, ServedRegistry>()
  readonly #attached = new WeakMap<object, Term>()

  /** The registries of the runs that have not ended, oldest first. */
  get registries(): readonly ServedRegistry[] {
    return [...this.#live.values()]
  }

  /** The runs that have not ended, oldest first. */
  get terms(): readonly Term[] {
    return [...this.#live.keys()]
  }

  /** Returns `term` as a run of this manager, also after its end; undefined for any other object. */
  termOf(term: object): Term | undefined {
    return this.#attached.get(term)
  }

  onTerm(term: Term): () => void {
    const registry = new ServedRegistry()
    registryOf.set(term, registry)
    this.#live.set(term, registry)
    this.#attached.set(term, term)
    return () => {
      this.#live.delete(term)
      registryOf.set(term, undefined)
      const { controller, lease, epoch } = term
      registry.end((metric) => registryEnded({ controller, lease, epoch }, metric))
    }
  }
}

function registryEnded(
  { controller, lease, epoch }: Pick<Term, 'controller' | 'lease' | 'epoch'>,
  metric?: string,
): TermEndedError {
  const subject = metric === undefined ? 'The metrics registry' : `Metric \`${metric}\``
  return new TermEndedError(
    `${subject} belongs to a run of controller \`${controller}\` that has ended (lease \`${lease}\`, epoch ${epoch}): ` +
      'define metrics in every run with `metrics(term)` and use them in that run only',
  )
}
