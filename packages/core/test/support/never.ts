import { afterEach, beforeEach } from 'vitest'

const waiting = new Set<() => void>()
let isOver = false

beforeEach(() => void (isOver = false))

afterEach(() => {
  isOver = true
  for (const settle of waiting) settle()
  waiting.clear()
})

/** A promise that does not settle during the test. It does after it, so that the test leaves no task behind. */
export function never(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  if (isOver) resolve()
  else waiting.add(resolve)
  return promise
}
