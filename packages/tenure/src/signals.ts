import type { Extension, Logger } from '@tenure/core'
import { EXIT_CODE, exitProcess } from './exit-code.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * SIGTERM and SIGINT stop the manager; a second one ends the process at once. Handlers are there only while the manager runs.
 *
 * A framework that handles signals as well, such as NestJS, removes its listener once it has shut down and sends the signal to the
 * process again. So one signal is ignored for each listener that was there at the first signal and has gone since.
 */
export function signalExtension(logger: Logger): Extension {
  let stop = () => {}
  let excess = 0
  let first: { readonly signal: NodeJS.Signals; readonly others: readonly unknown[] } | undefined
  const onSignal = (signal: NodeJS.Signals) => {
    if (first === undefined) {
      first = { signal, others: listenersOf(signal).filter((listener) => listener !== onSignal) }
      logger.info({ event: 'signal', signal }, `${signal}: stopping`)
      return stop()
    }
    excess += 1
    if (excess <= gone(first)) {
      logger.info(
        { event: 'signal', signal },
        `${signal} once more, from a listener that has handled it: still stopping`,
      )
      return
    }
    logger.warn({ event: 'signal', signal }, `${signal} once more: exiting at once, the lease is left to expire`)
    exitProcess(EXIT_CODE.failed)
  }
  return {
    name: 'signals',
    start: (host) => {
      stop = () => void host.stop()
      // Before the others: a listener for one signal only is taken out as it is called.
      for (const signal of SIGNALS) process.prependListener(signal, onSignal)
    },
    stop: () => {
      for (const signal of SIGNALS) process.removeListener(signal, onSignal)
    },
  }
}

function gone({ signal, others }: { readonly signal: NodeJS.Signals; readonly others: readonly unknown[] }): number {
  const present = listenersOf(signal)
  return others.filter((listener) => !present.includes(listener)).length
}

/** Those registered with `once` as they are stored, so that the same function twice is two listeners. */
function listenersOf(signal: NodeJS.Signals): readonly unknown[] {
  return process.rawListeners(signal)
}
