import { assertKnownKeys, type Clock, type Logger, OptionsError, silentLogger, systemClock, textOf } from '@tenure/core'

/** Options of the operations port. */
export interface OpsOptions {
  /** The port to listen on; 0 takes any that is free. */
  readonly port: number
  /** The address to listen on; `::` listens on IPv6 and, where the system allows it, on IPv4. @default '0.0.0.0' */
  readonly host?: string
  /** How long a health check may take before it counts as failed, in milliseconds. @default 5000 */
  readonly checkTimeoutMs?: number
  /** Whether to serve the metrics of the process: memory, event loop, garbage collection, handles. @default true */
  readonly processMetrics?: boolean
  /** @default that of this machine */
  readonly clock?: Clock
  /** @default a logger that drops every line */
  readonly logger?: Logger
}

/** {@link OpsOptions} with every default filled in. */
export type ResolvedOpsOptions = Required<OpsOptions>

const NAMES: readonly (keyof OpsOptions)[] = ['port', 'host', 'checkTimeoutMs', 'processMetrics', 'clock', 'logger']

/** Fills in defaults and checks every option. @throws OptionsError naming the option that is wrong. */
export function resolveOpsOptions(options: OpsOptions): ResolvedOpsOptions {
  assertKnownKeys('`ops`', options, NAMES)
  const { host = '0.0.0.0', checkTimeoutMs = 5000, processMetrics = true } = options
  if (!Number.isInteger(options.port) || options.port < 0 || options.port > 65_535) {
    throw new OptionsError(
      `Expected \`ops.port\` to be a whole number from 0 to 65535, got \`${textOf(options.port)}\``,
    )
  }
  if (typeof host !== 'string' || host === '') {
    throw new OptionsError(`Expected \`ops.host\` to be an address such as \`0.0.0.0\`, got \`${textOf(host)}\``)
  }
  if (typeof checkTimeoutMs !== 'number' || !(checkTimeoutMs > 0 && checkTimeoutMs < Infinity)) {
    throw new OptionsError(
      `Expected \`ops.checkTimeoutMs\` to be a number of milliseconds above 0, got \`${textOf(checkTimeoutMs)}\``,
    )
  }
  if (typeof processMetrics !== 'boolean') {
    throw new OptionsError(`Expected \`ops.processMetrics\` to be true or false, got \`${textOf(processMetrics)}\``)
  }
  const { port, clock = systemClock, logger = silentLogger } = options
  return { port, host, checkTimeoutMs, processMetrics, clock, logger }
}
