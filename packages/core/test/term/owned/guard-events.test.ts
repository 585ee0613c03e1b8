import { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { guardEvents } from '../../../src/term/owned/guard-events.ts'
import type { Owner } from '../../../src/term/owned/owner.ts'

/** A guarded emitter, and the owner that decides. */
function guarded(emitter: EventEmitter = new EventEmitter()) {
  const owner = { isHeld: true, asked: 0, admits: () => ((owner.asked += 1), owner.isHeld) }
  const forget = guardEvents(owner as unknown as Owner, emitter)
  return { owner, emitter, forget }
}

/** The arguments that a listener of `event` gets. */
function heard(emitter: EventEmitter, event: string): unknown[][] {
  const calls: unknown[][] = []
  emitter.on(event, (...args) => calls.push(args))
  return calls
}

describe('A guarded emitter', () => {
  test('hands every event on while the term admits that, and asks each time', () => {
    const { owner, emitter } = guarded()
    const calls = heard(emitter, 'message')
    owner.asked = 0
    expect([emitter.emit('message', 1, 2), emitter.emit('other')]).toEqual([true, false])
    expect([calls, owner.asked]).toEqual([[[1, 2]], 2])
  })

  test('drops an event from outside that the term does not admit', () => {
    const { owner, emitter } = guarded()
    const calls = heard(emitter, 'message')
    owner.isHeld = false
    expect(emitter.emit('message', 1)).toBe(false)
    expect(calls).toEqual([])
  })

  test.each([
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
  ])('hands `%s` on in any case, because it is about the emitter itself', (event) => {
    const { owner, emitter } = guarded()
    const calls = heard(emitter, event)
    calls.length = 0
    owner.isHeld = false
    expect(emitter.emit(event, 7)).toBe(true)
    expect(calls).toEqual([[7]])
  })

  test('destroys a connection that nobody gets', () => {
    const { owner, emitter } = guarded()
    const [taken, dropped] = [new Socket(), new Socket()]
    emitter.emit('connection', taken)
    owner.isHeld = false
    emitter.emit('connection', dropped)
    expect([taken.destroyed, dropped.destroyed]).toEqual([false, true])
    taken.destroy()
  })

  test('is as before when the guard is removed', () => {
    const { owner, emitter, forget } = guarded()
    const calls = heard(emitter, 'message')
    owner.isHeld = false
    forget()
    expect([emitter.emit('message', 1), Object.hasOwn(emitter, 'emit')]).toEqual([true, false])
    expect(calls).toEqual([[1]])
  })

  test('has its own `emit` again that it had before', () => {
    const emitter = new EventEmitter()
    const emitted: unknown[] = []
    const emit = (event: string): boolean => (emitted.push(event), true)
    Object.assign(emitter, { emit })
    const { owner, forget } = guarded(emitter)
    owner.isHeld = false
    emitter.emit('message')
    forget()
    emitter.emit('other')
    expect(emitted).toEqual(['other'])
    expect(Object.getOwnPropertyDescriptor(emitter, 'emit')?.value).toBe(emit)
  })

  test('keeps what others have put in the place of the guard', () => {
    const { emitter, forget } = guarded()
    const emit = () => true
    Object.assign(emitter, { emit })
    forget()
    expect(Object.getOwnPropertyDescriptor(emitter, 'emit')?.value).toBe(emit)
  })
})
