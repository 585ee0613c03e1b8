import type { HealthProbe } from 'tenure'

/** An answer in plain text. */
export interface HealthAnswer {
  readonly status: 200 | 500
  readonly body: string
}

/** What to answer for `manager.livez` or `manager.readyz`. */
export async function health(probe: HealthProbe): Promise<HealthAnswer> {
  const results = await probe.run()
  const lines = results.map(({ name, failure }) =>
    failure ? `[-]${name} failed: ${failure.message}` : `[+]${name} ok`,
  )
  const isHealthy = results.every(({ failure }) => failure === undefined)
  return { status: isHealthy ? 200 : 500, body: `${lines.join('\n')}\n` }
}
