import { type HealthCheckResult, type HealthProbe, type Logger } from '@tenure/core'
import { textOf } from '@tenure/core/internal'
import { runCheck, runChecks } from './bounded-checks.ts'
import type { BoundedWaits } from './bounded-waits.ts'
import { onOneLine } from './on-one-line.ts'

/** What a {@link HealthEndpoint} is made of. */
export interface HealthEndpointOptions {
  /** The name of the path, such as `livez`. */
  readonly name: string
  readonly probe: HealthProbe
  readonly waits: BoundedWaits
  readonly logger: Logger
}

/** A request to a health endpoint. */
export interface HealthQuery {
  readonly verbose: boolean
  /** The names of checks to leave out. */
  readonly exclude: readonly string[]
}

/** An answer in plain text. */
export interface HealthAnswer {
  readonly status: 200 | 404 | 500
  readonly body: string
}

/**
 * Answers for one set of checks in the format of the health endpoints of Kubernetes components, with one difference: the answer shows
 * the reason of a failure, because it names the stuck tasks.
 *
 * @see https://kubernetes.io/docs/reference/using-api/health-checks/
 */
export class HealthEndpoint {
  readonly #options: HealthEndpointOptions
  /** The checks that failed when they were last run. */
  readonly #failing = new Set<string>()

  constructor(options: HealthEndpointOptions) {
    this.#options = options
  }

  /** Runs all checks. Answers `ok`, or with one line for each check if the query is verbose or a check fails. */
  async answer({ verbose, exclude }: HealthQuery): Promise<HealthAnswer> {
    const { name, probe, waits } = this.#options
    const names = probe.names
    const excluded = new Set(exclude)
    const results = await runChecks(waits, probe, excluded)
    this.#report(results)
    const isHealthy = results.every(({ failure }) => failure === undefined)
    if (isHealthy && !verbose) return { status: 200, body: 'ok' }
    const lines = [
      ...linesOf(names, excluded, results),
      ...warnings(exclude.filter((wanted) => !names.includes(wanted))),
      `${name} check ${isHealthy ? 'passed' : 'failed'}`,
    ]
    return { status: isHealthy ? 200 : 500, body: `${lines.join('\n')}\n` }
  }

  /** Runs one check. */
  async answerOne(check: string): Promise<HealthAnswer> {
    const result = await runCheck(this.#options.waits, this.#options.probe, check)
    if (result === undefined) return { status: 404, body: 'no such check\n' }
    if (result.failure === undefined) return { status: 200, body: 'ok' }
    return { status: 500, body: `internal server error: ${reasonOf(result.failure)}\n` }
  }

  /**
   * Logs when the set of failing checks changes, so that the log explains a restart by a probe. An excluded check keeps its last known
   * result. Otherwise any client could fill the log.
   */
  #report(results: readonly HealthCheckResult[]): void {
    const before = [...this.#failing].join(', ')
    const { logger, name: endpoint, probe } = this.#options
    for (const name of this.#failing) if (!probe.names.includes(name)) this.#failing.delete(name)
    for (const { name, failure } of results) {
      if (failure === undefined) this.#failing.delete(name)
      else this.#failing.add(name)
    }
    const failures = [...this.#failing].join(', ')
    if (failures === before) return
    const checks = results.filter(({ failure }) => failure !== undefined).map(describe)
    if (failures === '') logger.info({ event: 'health-check', endpoint }, `${endpoint} passes again`)
    else logger.warn({ event: 'health-check', endpoint, checks }, `${endpoint} fails: ${failures}`)
  }
}

/** A line for every check, in the order of the checks. */
function linesOf(
  names: readonly string[],
  excluded: ReadonlySet<string>,
  results: readonly HealthCheckResult[],
): readonly string[] {
  const rest = [...results]
  const lines = names.flatMap((name) => {
    if (excluded.has(name)) return [`[+]${name} excluded: ok`]
    return rest[0]?.name === name ? rest.splice(0, 1).map(describe) : []
  })
  return [...lines, ...rest.map(describe)]
}

function describe({ name, failure }: HealthCheckResult): string {
  return failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${reasonOf(failure)}`
}

/** Each check is one line of the body. */
function reasonOf(failure: Error): string {
  return onOneLine(textOf(failure))
}

function warnings(unknown: readonly string[]): readonly string[] {
  if (unknown.length === 0) return []
  const names = [...new Set(unknown)].sort().map((name) => JSON.stringify(name))
  return [`warn: some health checks cannot be excluded: no matches for ${names.join(',')}`]
}
