import type { EventEmitter } from 'node:events'
import { onAbort, type Owner } from './owner.ts'

/** What {@link listen} can listen to. */
export type ListenTarget = EventEmitter | EventTarget

/** A listener of any event. Its arguments are those that the target hands over. */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the types of EventEmitter: only who listens knows
export type Listener = (...args: any[]) => unknown

/** What is listened to, and with what. */
export interface Subscription {
  readonly target: ListenTarget
  readonly event: string | symbol
  readonly listener: Listener
}

/** Listens until the term begins to end, or the returned function is called. Every call of the listener is a tracked task. */
export function listen(owner: Owner, { target, event, listener }: Subscription): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  const name = `on ${String(event)}`
  const call = (...args: unknown[]): void => {
    // Another listener of the same abort may have made the target emit.
    if (owner.admits() && !owner.signal.aborted) owner.track(name, () => listener(...args)).catch(() => {})
  }
  owner.assertOpen(`listen ${String(event)}`)
  owner.noteSite(name)
  let remove = (): void => {}
  void owner.track(`listen ${String(event)}`, (task) => {
    task.waitsOn = `event \`${String(event)}\``
    const unsubscribe = subscribe(target, event, call)
    const forget = onAbort(owner.signal, () => remove())
    remove = () => {
      unsubscribe()
      forget()
      resolve()
    }
    return promise
  })
  return () => remove()
}

function subscribe(target: ListenTarget, event: string | symbol, call: (...args: unknown[]) => void): () => void {
  if ('on' in target) {
    target.on(event, call)
    return () => void target.off(event, call)
  }
  target.addEventListener(String(event), call)
  return () => target.removeEventListener(String(event), call)
}
