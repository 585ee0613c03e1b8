import type { EventEmitter } from 'node:events'
import { OptionsError } from '../../options/options-error.ts'
import { textOf } from '../../text-of.ts'
import { assertArguments } from '../call-arguments.ts'
import { onAbort } from '../../on-abort.ts'
import type { Owner } from './owner.ts'

/** What {@link listen} can listen to. */
export type ListenTarget = EventEmitter | EventTarget

/** A listener of any event. It gets the arguments of the event. */
// oxlint-disable-next-line typescript/no-explicit-any -- as in the types of EventEmitter: only the listener knows
export type Listener = (...args: any[]) => unknown

/** The target, the event and the listener. */
export interface Subscription {
  readonly target: ListenTarget
  readonly event: string | symbol
  readonly listener: Listener
}

/** Listens until the term begins to end, or the returned function is called. Every call of the listener is a task. */
export function listen(owner: Owner, { target, event, listener }: Subscription): () => void {
  assertEmits(owner, target)
  assertSubscription(event, listener)
  const { promise, resolve } = Promise.withResolvers<void>()
  const name = `on ${textOf(event)}`
  const call = (...args: unknown[]): void => {
    // Another listener of the same abort may have made the target emit.
    if (!owner.admits() || owner.signal.aborted) return
    owner.track(name, () => owner.enter(() => listener(...args))).catch(() => {})
  }
  owner.assertOpen(`listen ${textOf(event)}`)
  owner.noteSite(name)
  let remove = (): void => {}
  void owner.track(`listen ${textOf(event)}`, (task) => {
    task.waitsOn = `event \`${textOf(event)}\``
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

function assertSubscription(event: unknown, listener: unknown): void {
  if (typeof event !== 'string' && typeof event !== 'symbol') {
    throw OptionsError.expected('`event` of `term.listen(target, event, listener)` to be a text or a symbol', event)
  }
  assertArguments('term.listen(target, event, listener)', { functions: { listener } })
}

function subscribe(target: ListenTarget, event: string | symbol, call: (...args: unknown[]) => void): () => void {
  if ('on' in target) {
    target.on(event, call)
    return () => void target.off(event, call)
  }
  target.addEventListener(String(event), call)
  return () => target.removeEventListener(String(event), call)
}

/**
 * Rejects targets that emit nothing, and the signals of the term: listeners are removed when the term begins to end, before a signal
 * could call them.
 */
function assertEmits({ signal, hardSignal, gateSignal }: Owner, target: unknown): asserts target is ListenTarget {
  for (const [name, own] of Object.entries({ signal, hardSignal, gateSignal })) {
    if (target !== own) continue
    throw new OptionsError(
      `Expected \`term.listen()\` to be given something that emits while the term lasts, got \`term.${name}\`: listeners are ` +
        'removed when the term begins to end. Use `term.defer()` for work at its end, or `addEventListener()` of the signal',
    )
  }
  if (typeof target === 'object' && target !== null && ('on' in target || 'addEventListener' in target)) return
  throw OptionsError.expected(`\`term.listen()\` to be given an EventEmitter or an EventTarget`, target)
}
