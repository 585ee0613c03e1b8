import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/** Calls `work` once after `delayMs`, unless the term begins to end or the returned function is called first. */
export function timeout(owner: Owner, delayMs: number, work: (signal: AbortSignal) => unknown): () => void {
  const { promise, resolve } = Promise.withResolvers<'due' | 'dropped'>()
  owner.assertOpen(`timeout ${delayMs} ms`)
  const drop = (): void => resolve('dropped')
  owner
    .track(`timeout ${delayMs} ms`, async (task) => {
      task.waitsOn = `term.timeout ${delayMs} ms`
      const timer = owner.clock.setTimer(delayMs, () => resolve(owner.admits() ? 'due' : 'dropped'))
      const forget = onAbort(owner.signal, drop)
      const outcome = await promise
      forget()
      timer.cancel()
      if (outcome === 'due') await work(owner.signal)
    })
    .catch(() => {})
  return drop
}
