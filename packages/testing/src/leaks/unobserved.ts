import { setImmediate as setRealImmediate, setTimeout as setRealTimeout } from 'node:timers'

// Saved once, before a test can install fake timers.
const setImmediate = setRealImmediate
const setTimeout = setRealTimeout
const now = performance.now.bind(performance)

let depth = 0

/** Whether the detector itself is running. It must not record its own work. */
export function isUnobserved(): boolean {
  return depth > 0
}

/** Calls `work` without recording what it creates synchronously. */
export function unobserved<T>(work: () => T): T {
  depth++
  try {
    return work()
  } finally {
    depth--
  }
}

/** Milliseconds of real time since the start of the process. */
export function realNow(): number {
  return now()
}

/** Resolves in the next turn of the event loop, of real time. */
export function nextTurn(): Promise<void> {
  return unobserved(() => new Promise((resolve) => void setImmediate(resolve)))
}

/** Resolves after `delayMs` of real time. */
export function realDelay(delayMs: number): Promise<void> {
  return unobserved(() => new Promise((resolve) => void setTimeout(resolve, delayMs)))
}
