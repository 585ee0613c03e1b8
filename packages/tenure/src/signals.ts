import type { Logger, Service } from '@tenure/core'
import { EXIT_CODE } from './exit-code.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** What the signal handlers act on. */
export interface SignalOptions {
  readonly logger: Logger
  /** Called at the first signal. */
  readonly stop: () => void
}

/** SIGTERM and SIGINT stop the manager; a second one ends the process at once. Handlers are there only while the manager runs. */
export function signalService({ logger, stop }: SignalOptions): Service {
  let received = 0
  const onSignal = (signal: NodeJS.Signals) => {
    received += 1
    if (received > 1) {
      logger.warn({ event: 'signal', signal }, `${signal} once more: exiting at once, the lease is left to expire`)
      process.exit(EXIT_CODE.failed)
    }
    logger.info({ event: 'signal', signal }, `${signal}: stopping`)
    stop()
  }
  return {
    name: 'signals',
    start: async () => {
      for (const signal of SIGNALS) process.on(signal, onSignal)
    },
    stop: async () => {
      for (const signal of SIGNALS) process.removeListener(signal, onSignal)
    },
  }
}
