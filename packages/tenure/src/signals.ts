import type { Extension, Logger } from '@tenure/core'
import { EXIT_CODE, exitProcess } from './exit-code.ts'

const SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * SIGTERM and SIGINT stop the manager. A second signal exits the process at once. The handlers exist only while the manager runs.
 *
 * Some frameworks, such as NestJS, handle the signal, remove their listener and send the signal to the process again. So Tenure ignores
 * one signal for each listener that was present at the first signal and has been removed since.
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
      // First, because Node removes a `once` listener when it calls it.
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

/** Includes the wrappers of `once` listeners, so that the same function registered twice counts as two. */
function listenersOf(signal: NodeJS.Signals): readonly unknown[] {
  return process.rawListeners(signal)
}
