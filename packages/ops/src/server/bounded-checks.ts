import type { HealthCheckResult, HealthProbe } from '@tenure/core'
import { type BoundedWaits, TIMED_OUT } from './bounded-waits.ts'

/**
 * Runs all checks of a probe except the excluded ones. Never rejects.
 *
 * The checks run together. If they do not finish in time, each one runs again by itself, to find the check that hangs. The answer then
 * takes up to twice the timeout.
 */
export async function runChecks(
  waits: BoundedWaits,
  probe: HealthProbe,
  exclude: ReadonlySet<string>,
): Promise<readonly HealthCheckResult[]> {
  const names = probe.names.filter((name) => !exclude.has(name))
  const results = await waits.inTime(probe.run(exclude))
  if (results !== TIMED_OUT) return results
  const each = await Promise.all(names.map((name) => runCheck(waits, probe, name)))
  return each.filter((result) => result !== undefined)
}

/** Runs one check; resolves with undefined when there is none of that name. Never rejects. */
export async function runCheck(
  waits: BoundedWaits,
  probe: HealthProbe,
  name: string,
): Promise<HealthCheckResult | undefined> {
  const result = await waits.inTime(probe.runOne(name))
  return result === TIMED_OUT ? { name, failure: new Error(`timed out after ${waits.timeoutMs} ms`) } : result
}
