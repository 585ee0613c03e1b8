import { type Channel, channel } from 'node:diagnostics_channel'
import { replaceProperty, type Undo, undoAll } from '../replace-property.ts'
import type { Tracker, TrackerContext } from '../tracker.ts'
import { isUnobserved } from '../unobserved.ts'

type Attach = 'subscribe' | 'bindStore'
type Detach = 'unsubscribe' | 'unbindStore'
type Method = (this: Channel, subscriber: object, ...rest: unknown[]) => unknown
type Prototype = Record<Attach | Detach, Method>

/** Subscribers of diagnostics channels and stores bound to them. A channel changes its prototype when it gets its first one. */
export const trackDiagnosticsChannels: Tracker = (context) => {
  const attached = new Map<Channel, Map<object, number>>()
  return undoAll(
    prototypes().flatMap((prototype) => [
      watchAttach(context, attached, { prototype, method: 'subscribe' }),
      watchAttach(context, attached, { prototype, method: 'bindStore' }),
      watchDetach(attached, prototype, 'unsubscribe'),
      watchDetach(attached, prototype, 'unbindStore'),
    ]),
  )
}

function prototypes(): readonly Prototype[] {
  const probe = channel(`tenure.leaks.probe`)
  const idle = Object.getPrototypeOf(probe) as Prototype
  const subscriber = () => {}
  probe.subscribe(subscriber)
  const active = Object.getPrototypeOf(probe) as Prototype
  probe.unsubscribe(subscriber)
  return [idle, active]
}

function watchAttach(
  { ledger }: TrackerContext,
  attached: Map<Channel, Map<object, number>>,
  { prototype, method }: { readonly prototype: Prototype; readonly method: Attach },
): Undo {
  return replaceProperty(
    prototype,
    method,
    (original) =>
      function attach(subscriber, ...rest) {
        const before = countOf(attached, this, subscriber)
        const result = original.call(this, subscriber, ...rest)
        // The idle prototype passes the call on to the active one, which has counted it by now.
        if (isUnobserved() || countOf(attached, this, subscriber) > before) return result
        add(attached, this, subscriber, 1)
        ledger.add({
          isAlive: () => countOf(attached, this, subscriber) > before,
          describe: () => ({ kind: 'diagnostics-subscriber', detail: `\`${String(this.name)}\`` }),
        })
        return result
      },
  )
}

function watchDetach(attached: Map<Channel, Map<object, number>>, prototype: Prototype, method: Detach): Undo {
  return replaceProperty(
    prototype,
    method,
    (original) =>
      function detach(subscriber, ...rest) {
        const before = countOf(attached, this, subscriber)
        const result = original.call(this, subscriber, ...rest)
        if (before > 0 && countOf(attached, this, subscriber) === before) add(attached, this, subscriber, -1)
        return result
      },
  )
}

function countOf(attached: Map<Channel, Map<object, number>>, channel: Channel, subscriber: object): number {
  return attached.get(channel)?.get(subscriber) ?? 0
}

function add(attached: Map<Channel, Map<object, number>>, channel: Channel, subscriber: object, by: number): void {
  const counts = attached.get(channel) ?? new Map<object, number>()
  attached.set(channel, counts)
  const count = (counts.get(subscriber) ?? 0) + by
  if (count > 0) counts.set(subscriber, count)
  else counts.delete(subscriber)
  if (counts.size === 0) attached.delete(channel)
}
