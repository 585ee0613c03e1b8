import { isatty } from 'node:tty'
import type { Extension } from 'tenure'

/** The signals that the program gets. SIGTERM and SIGINT end the term instead, which stops the program. */
const FORWARDED = ['SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGWINCH'] as const

/**
 * Passes signals on to the program. Without a program they have no effect. When the terminal of this process closes, SIGHUP ends the
 * term, because nobody would see the program any more.
 */
export function forwardedSignals(forward: (signal: NodeJS.Signals) => void): Extension {
  let stop = (): void => {}
  const onSignal = (signal: NodeJS.Signals): void => {
    if (signal === 'SIGHUP' && isatty(0)) stop()
    else forward(signal)
  }
  return {
    name: 'forwarded-signals',
    start: (host) => {
      stop = () => void host.stop()
      for (const signal of FORWARDED) process.on(signal, onSignal)
    },
    stop: () => {
      for (const signal of FORWARDED) process.removeListener(signal, onSignal)
    },
  }
}
