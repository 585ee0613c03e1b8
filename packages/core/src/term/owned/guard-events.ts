import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import type { Owner } from './owner.ts'

/**
 * What an emitter says about itself. The term has to hear it to its end, and so do the parts of Node that work with the emitter.
 */
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
 * Puts the listeners of an emitter behind the door of the term, whoever added them: every event asks first, and one that brings news
 * from outside is dropped when the term does not admit it; a connection is destroyed then, because nobody has it. The returned
 * function takes that back.
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
