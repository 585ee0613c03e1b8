import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import type { Owner } from './owner.ts'

/** Events about the emitter itself. The term, and the parts of Node that use the emitter, need them until the end. */
const LIFECYCLE: ReadonlySet<string | symbol> = new Set([
  'close',
  'disconnect',
  'drain',
  'end',
  'error',
  'exit',
  'finish',
  'listening',
  'newListener',
  'online',
  'pause',
  'pipe',
  'prefinish',
  'removeListener',
  'resume',
  'spawn',
  'unpipe',
])

/**
 * Puts all listeners of an emitter behind the clock check of the term. Every event checks first. If the term does not admit it, an
 * event from outside is dropped, and a connection is destroyed, because no listener received it. The returned function restores the
 * emitter.
 */
export function guardEvents(owner: Owner, emitter: EventEmitter): () => void {
  const own = Object.getOwnPropertyDescriptor(emitter, 'emit')
  const emit: EventEmitter['emit'] = emitter.emit.bind(emitter)
  const guarded: EventEmitter['emit'] = (event, ...args) => {
    const isAdmitted = owner.admits()
    if (isAdmitted || LIFECYCLE.has(event)) return emit(event, ...args)
    if (args[0] instanceof Socket) args[0].destroy()
    return false
  }
  emitter.emit = guarded
  return () => {
    if (emitter.emit !== guarded) return
    Reflect.deleteProperty(emitter, 'emit')
    if (own !== undefined) Object.defineProperty(emitter, 'emit', own)
  }
}
