import { EventEmitter, getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { OptionsError } from '../../../src/options/options-error.ts'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'

describe('term.listen', () => {
  test('calls the listener with what an EventEmitter emits, until the term ends', async () => {
    const { term, left } = freshTerm()
    const emitter = new EventEmitter()
    const calls: unknown[][] = []
    term.listen(emitter, 'message', (...args) => calls.push(args))
    emitter.emit('message', 1, 'a')
    term.end(ENDED)
    emitter.emit('message', 2)
    await term.scope.join()
    expect(calls).toEqual([[1, 'a']])
    expect([emitter.listenerCount('message'), left()]).toEqual([0, NOTHING])
  })

  test('calls the listener with the events of an EventTarget, until the term ends', async () => {
    const { term, left } = freshTerm()
    const target = new EventTarget()
    const types: string[] = []
    term.listen(target, 'change', (event) => types.push(event.type))
    target.dispatchEvent(new Event('change'))
    term.end(ENDED)
    target.dispatchEvent(new Event('change'))
    await term.scope.join()
    expect(types).toEqual(['change'])
    expect([getEventListeners(target, 'change'), left()]).toEqual([[], NOTHING])
  })

  test('stops listening when the returned function is called, once or twice', async () => {
    const { clock, term, left } = freshTerm()
    const emitter = new EventEmitter()
    const stop = term.listen(emitter, 'message', () => {})
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'listen message', waitsOn: 'event `message`' }])
    stop()
    stop()
    await clock.runAllMicrotasks()
    expect([emitter.listenerCount('message'), left()]).toEqual([0, NOTHING])
  })

  test('tracks what a listener starts, and waits for it', async () => {
    const { term, clock } = freshTerm()
    const emitter = new EventEmitter()
    const work = Promise.withResolvers<void>()
    term.listen(emitter, 'message', () => work.promise)
    emitter.emit('message')
    term.end(ENDED)
    let isOver = false
    void term.scope.join().then(() => (isOver = true))
    await clock.runAllMicrotasks()
    expect(isOver).toBe(false)
    expect(term.scope.liveTasks()).toMatchObject([
      { name: 'on message', spawnedAt: expect.stringContaining('listener.test.ts') },
    ])
    work.resolve()
    await clock.runAllMicrotasks()
    expect(isOver).toBe(true)
  })

  test('fails the controller when a listener throws or rejects, and does not disturb the emitter', async () => {
    const { term, clock, failures } = freshTerm()
    const emitter = new EventEmitter()
    term.listen(emitter, 'throw', () => {
      throw new Error('thrown')
    })
    term.listen(emitter, 'reject', () => Promise.reject(new Error('rejected')))
    emitter.emit('throw')
    emitter.emit('reject')
    await clock.runAllMicrotasks()
    expect(failures).toEqual([new Error('thrown'), new Error('rejected')])
    term.end(ENDED)
    await term.scope.join()
  })

  test('is not called for what the end of the term itself makes the target emit', async () => {
    const { term } = freshTerm()
    const emitter = new EventEmitter()
    let calls = 0
    term.signal.addEventListener('abort', () => emitter.emit('message'), { once: true })
    term.listen(emitter, 'message', () => (calls += 1))
    term.end(ENDED)
    await term.scope.join()
    expect(calls).toBe(0)
  })

  test('is refused once the term has ended, and adds nothing', () => {
    const { term } = freshTerm()
    const emitter = new EventEmitter()
    term.end(ENDED)
    expect(() => term.listen(emitter, 'message', () => {})).toThrow(ScopeClosedError)
    expect(() => term.listen(emitter, 'message', () => {})).toThrow('Task `listen message` of controller `janitor`')
    expect(emitter.listenerCount('message')).toBe(0)
  })

  test('may be called for thousands of events without a warning about listeners', async () => {
    const { term, left } = freshTerm()
    const warnings: Error[] = []
    const onWarning = (warning: Error) => warnings.push(warning)
    process.on('warning', onWarning)
    for (let index = 0; index < 5000; index++) term.listen(new EventEmitter(), 'message', () => {})
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings).toEqual([])
    expect(left().listeners).toBe(5000)
    term.end(ENDED)
    await term.scope.join()
    expect(left()).toEqual(NOTHING)
  })
})

describe('term.listen', () => {
  test('is not called once the time of the term is up, although nothing has ended it yet', async () => {
    const { term } = freshTerm()
    const emitter = new EventEmitter()
    let calls = 0
    term.listen(emitter, 'message', () => (calls += 1))
    Object.assign(term, { admits: () => false })
    emitter.emit('message')
    expect([calls, term.taskCount]).toEqual([0, 1])
  })

  test('takes symbols, by their names where a text is needed', () => {
    const { term } = freshTerm()
    const [emitter, target] = [new EventEmitter(), new EventTarget()]
    const heard: string[] = []
    const event = Symbol('news')
    term.listen(emitter, event, () => heard.push('emitter'))
    term.listen(target, event, () => heard.push('target'))
    emitter.emit(event)
    target.dispatchEvent(new Event('Symbol(news)'))
    expect(heard).toEqual(['emitter', 'target'])
    expect(term.scope.liveTasks()[0]).toMatchObject({ name: 'listen Symbol(news)', waitsOn: 'event `Symbol(news)`' })
  })
})

describe('term.listen refuses', () => {
  test('an event that is no text and no symbol', () => {
    const { term, left } = freshTerm()
    for (const event of [undefined, 7, {}])
      expect(() => term.listen(new EventEmitter(), event as unknown as string, () => {})).toThrow(
        'Expected `event` of `term.listen(target, event, listener)` to be a text or a symbol, got `',
      )
    expect(left()).toEqual(NOTHING)
  })

  test.each([null, undefined, 'text', () => {}])('%o, to which nobody can listen', (target) => {
    const { term } = freshTerm()
    expect(() => term.listen(target as unknown as EventEmitter, 'x', () => {})).toThrow(
      'Expected `term.listen()` to be given an EventEmitter or an EventTarget, got `',
    )
  })

  test('a signal of the term, with what to do instead', () => {
    const { term } = freshTerm()
    expect(() => term.listen(term.signal, 'abort', () => {})).toThrow(
      new OptionsError(
        'Expected `term.listen()` to be given something that emits while the term lasts, got `term.signal`: listeners are ' +
          'removed when the term begins to end. Use `term.defer()` for work at its end, or `addEventListener()` of the signal',
      ),
    )
  })

  test.each(['signal', 'hardSignal', 'gateSignal'] as const)(
    '`term.%s`, whose listeners it would never call',
    (name) => {
      const { term, left } = freshTerm()
      expect(() => term.listen(term[name], 'abort', () => {})).toThrow(
        `Expected \`term.listen()\` to be given something that emits while the term lasts, got \`term.${name}\``,
      )
      expect(left()).toEqual(NOTHING)
    },
  )

  test('what emits nothing', () => {
    const { term, left } = freshTerm()
    const target = { data: 1 } as unknown as EventEmitter
    expect(() => term.listen(target, 'x', () => {})).toThrow(
      'Expected `term.listen()` to be given an EventEmitter or an EventTarget, got `{ data: 1 }`',
    )
    expect(left()).toEqual(NOTHING)
  })
})
