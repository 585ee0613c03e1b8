import type { Channel } from 'node:diagnostics_channel'
import type { InspectOptions } from 'node:util'

/*
 * What an elector takes of Node, and does without elsewhere: the simulator also runs it in a browser. So the elector imports no module
 * of Node.
 */
const node = globalThis.process as NodeJS.Process | undefined
const util = node?.getBuiltinModule?.('node:util')
const events = node?.getBuiltinModule?.('node:events')
const channels = node?.getBuiltinModule?.('node:diagnostics_channel')

/** A diagnostics channel. Without Node nobody can subscribe to it. */
export function channel(name: string): Channel {
  return channels?.channel(name) ?? ({ name, hasSubscribers: false, publish: () => {} } as unknown as Channel)
}

/** `inspect()` of Node. Without Node it tells only the type of the value. */
export function inspect(value: unknown, options: InspectOptions): string {
  return util?.inspect(value, options) ?? Object.prototype.toString.call(value)
}

/** Whether a value is a map, also of another realm. Without Node: of this realm. */
export function isMap(value: unknown): value is ReadonlyMap<unknown, unknown> {
  return util?.types.isMap(value) ?? value instanceof Map
}

/** Lets any number of listeners wait for a signal without a warning. Only Node warns. */
export function allowListeners(signal: AbortSignal): void {
  events?.setMaxListeners(0, signal)
}

/** Whether `parsed`, which was read from the JSON of `value`, is the same as `value`. Without Node: whether both have the same JSON. */
export function isSameAsParsed(parsed: unknown, value: unknown): boolean {
  return util?.isDeepStrictEqual(parsed, value) ?? JSON.stringify(parsed) === JSON.stringify(value)
}
