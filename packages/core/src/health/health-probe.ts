import type { HealthCheckResult } from './health-registry.ts'

/** A source of named checks: a registry, or another probe. */
export interface HealthSource {
  /** The names of the checks. */
  readonly names: readonly string[]
  /** Runs all checks except the excluded ones. A check that fails does not reject the promise. */
  run(exclude?: ReadonlySet<string>): Promise<readonly HealthCheckResult[]>
}

/**
 * The checks of one health endpoint: those of several registries, each under a prefix. Registries can be added and removed. A request
 * runs the checks that are there at that moment.
 */
export class HealthProbe implements HealthSource {
  readonly #sources = new Set<{ readonly prefix: string; readonly source: HealthSource }>()

  /** Adds a registry or probe. Its checks are named `prefix` + name. The returned function removes it. */
  add(source: HealthSource, prefix = ''): () => void {
    const entry = { prefix, source }
    this.#sources.add(entry)
    return () => this.#sources.delete(entry)
  }

  /** The names of all checks. */
  get names(): readonly string[] {
    return [...this.#sources].flatMap(({ prefix, source }) => source.names.map((name) => prefix + name))
  }

  /** Runs all checks but the excluded ones. Never rejects. */
  async run(exclude: ReadonlySet<string> = new Set()): Promise<readonly HealthCheckResult[]> {
    const results = await Promise.all([...this.#sources].map((entry) => runSource(entry, exclude)))
    return results.flat()
  }

  /** Runs one check; undefined if there is none of that name. */
  async runOne(name: string): Promise<HealthCheckResult | undefined> {
    const [result] = await this.run(new Set(this.names.filter((other) => other !== name)))
    return result
  }
}

async function runSource(
  { prefix, source }: { readonly prefix: string; readonly source: HealthSource },
  exclude: ReadonlySet<string>,
): Promise<readonly HealthCheckResult[]> {
  const excluded = new Set(source.names.filter((name) => exclude.has(prefix + name)))
  const results = await source.run(excluded)
  return results.map((result) => ({ ...result, name: prefix + result.name }))
}
