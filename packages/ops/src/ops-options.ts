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
   * Whether to serve the metrics of the process: memory, event loop, garbage collection, handles. If one of `registries` contains them,
   * the page serves those instead. @default true
   */
  readonly processMetrics?: boolean
  /** The clock for the timeouts of health checks. @default the system clock */
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

const DEFAULTS: ResolvedOpsOptions = {
  port: 8080,
  host: '0.0.0.0',
  registries: [],
  checkTimeoutMs: 5000,
  processMetrics: true,
  clock: systemClock,
  logger: silentLogger,
}

/** Fills in defaults and checks every option. @throws OptionsError naming the option that is wrong. */
export function resolveOpsOptions(options: OpsOptions): ResolvedOpsOptions {
  assertKnownKeys('`ops`', options, NAMES)
  const resolved = { ...DEFAULTS, ...given(options) }
  assertPort(resolved.port)
  assertHost(resolved.host)
  assertRegistries(resolved.registries)
  assertCheckTimeout(resolved.checkTimeoutMs)
  assertProcessMetrics(resolved.processMetrics)
  return resolved
}

/** The options without those that are undefined, which mean the default. */
function given(options: OpsOptions): OpsOptions {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function assertPort(port: unknown): void {
  if (port === false || (Number.isInteger(port) && Number(port) >= 0 && Number(port) <= 65_535)) return
  throw OptionsError.expected(`\`ops.port\` to be a whole number from 0 to 65535, or false`, port)
}

function assertHost(host: unknown): void {
  if (typeof host === 'string' && host !== '') return
  throw OptionsError.expected(`\`ops.host\` to be an address such as \`0.0.0.0\``, host)
}

function assertCheckTimeout(timeoutMs: unknown): void {
  if (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs < Infinity) return
  throw OptionsError.expected(`\`ops.checkTimeoutMs\` to be a number of milliseconds above 0`, timeoutMs)
}

function assertProcessMetrics(processMetrics: unknown): void {
  if (typeof processMetrics === 'boolean') return
  throw OptionsError.expected(`\`ops.processMetrics\` to be true or false`, processMetrics)
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
