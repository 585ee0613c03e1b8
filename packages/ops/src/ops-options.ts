import { type Clock, type Logger, OptionsError } from '@tenure/core'
import { assertKnownKeys, silentLogger, systemClock } from '@tenure/core/internal'
import type { MetricsSource } from './metrics/metrics-source.ts'

/** Options of the operations port. */
export interface OpsOptions {
  /**
   * The TCP port to listen on. 0 takes any free port. With `false` there is no port: a server of your own serves {@link Ops.metrics}, and
   * `livez` and `readyz` of the manager. @default 8080; with `createManager()`, the flag `--ops-port` and `TENURE_OPS_PORT` come first
   */
  readonly port?: number | false
  /** The address to listen on; `::` listens on IPv6 and, where the system allows it, on IPv4. @default '0.0.0.0' */
  readonly host?: string
  /** Registries of your own whose metrics are served as well, such as the global one of prom-client. @default none */
  readonly registries?: readonly MetricsSource[]
  /** How long a health check may take before it counts as failed, in milliseconds. @default 5000 */
  readonly checkTimeoutMs?: number
  /**
   * Whether to serve the metrics of the process: memory, event loop, garbage collection, handles. Those of `registries` are served
   * where one of them has them. @default true
   */
  readonly processMetrics?: boolean
  /** Times the health checks. @default that of this machine */
  readonly clock?: Clock
  /** Receives the log lines of the server. @default a logger that drops every line */
  readonly logger?: Logger
}

/** {@link OpsOptions} with every default filled in. */
export type ResolvedOpsOptions = Required<OpsOptions>

const NAMES: readonly (keyof OpsOptions)[] = [
  'port',
  'host',
  'registries',
  'checkTimeoutMs',
  'processMetrics',
  'clock',
  'logger',
]

/** Fills in defaults and checks every option. @throws OptionsError naming the option that is wrong. */
export function resolveOpsOptions(options: OpsOptions): ResolvedOpsOptions {
  assertKnownKeys('`ops`', options, NAMES)
  const { host = '0.0.0.0', registries = [], checkTimeoutMs = 5000, processMetrics = true } = options
  assertPort(options.port)
  assertRegistries(registries)
  if (typeof host !== 'string' || host === '') {
    throw OptionsError.expected(`\`ops.host\` to be an address such as \`0.0.0.0\``, host)
  }
  if (typeof checkTimeoutMs !== 'number' || !(checkTimeoutMs > 0 && checkTimeoutMs < Infinity)) {
    throw OptionsError.expected(`\`ops.checkTimeoutMs\` to be a number of milliseconds above 0`, checkTimeoutMs)
  }
  if (typeof processMetrics !== 'boolean') {
    throw OptionsError.expected(`\`ops.processMetrics\` to be true or false`, processMetrics)
  }
  const { port = 8080, clock = systemClock, logger = silentLogger } = options
  return { port, host, registries, checkTimeoutMs, processMetrics, clock, logger }
}

function assertPort(port: unknown): void {
  if (port === undefined || port === false || (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535))
    return
  throw OptionsError.expected(`\`ops.port\` to be a whole number from 0 to 65535, or false`, port)
}

function assertRegistries(registries: unknown): void {
  const methods = ['getMetricsAsJSON', 'getMetricsAsArray'] as const
  const isRegistry = (value: unknown) =>
    typeof value === 'object' &&
    value !== null &&
    methods.every((name) => typeof Reflect.get(value, name) === 'function')
  if (Array.isArray(registries) && registries.every(isRegistry)) return
  throw new OptionsError('Expected `ops.registries` to be an array of prom-client registries, such as `[register]`')
}
