import { describe, expect, test } from 'vitest'
import { ScopeClosedError } from '../../../src/term/task-scope.ts'
import { ENDED, freshTerm, NOTHING } from '../../support/fresh-term.ts'

describe('term.timeout', () => {
  test('calls its work once, after its time, and leaves nothing', async () => {
    const { term, clock, left } = freshTerm()
    const times: number[] = []
    term.timeout(100, () => times.push(clock.now()))
    expect(left()).toEqual({ listeners: 1, timers: 1, tasks: 1 })
    await clock.advance(1000)
    expect(times).toEqual([100])
    expect(left()).toEqual(NOTHING)
  })

  test('does not call its work when the term ends before, and leaves nothing', async () => {
    const { term, clock, left } = freshTerm()
    let calls = 0
    term.timeout(100, () => (calls += 1))
    term.end(ENDED)
    await term.scope.join()
    expect(left()).toEqual(NOTHING)
    await clock.advance(1000)
    expect(calls).toBe(0)
  })

  test('is a task that says how long it waits', async () => {
    const { term } = freshTerm()
    const signals: AbortSignal[] = []
    term.timeout(100, (signal) => signals.push(signal))
    expect(term.scope.liveTasks()).toMatchObject([{ name: 'timeout 100 ms', waitsOn: 'term.timeout 100 ms' }])
    expect(signals).toEqual([])
  })

  test('does not call its work once the time of the term is up, although nothing has ended it yet', async () => {
    const { term, clock, left } = freshTerm()
    let calls = 0
    term.timeout(100, () => (calls += 1))
    Object.assign(term, { admits: () => false })
    await clock.advance(100)
    expect([calls, left()]).toEqual([0, NOTHING])
  })

  test('does not call its work when it is taken back, and leaves nothing', async () => {
    const { term, clock, left } = freshTerm()
    let calls = 0
    const takeBack = term.timeout(100, () => (calls += 1))
    takeBack()
    await clock.advance(1000)
    expect([calls, left()]).toEqual([0, NOTHING])
  })

  test('fails the controller when its work fails', async () => {
    const { term, clock, failures } = freshTerm()
    term.timeout(100, () => Promise.reject(new Error('late')))
    await clock.advance(100)
    expect(failures).toEqual([new Error('late')])
  })

  test('refuses what is no duration, and everything once the term has ended', () => {
    const { term } = freshTerm()
    expect(() => term.timeout(Number.NaN, () => {})).toThrow('Expected `delayMs` to be a number of milliseconds')
    term.end(ENDED)
    expect(() => term.timeout(1, () => {})).toThrow(ScopeClosedError)
    expect(() => term.timeout(1, () => {})).toThrow('Task `timeout 1 ms` of controller `janitor` was refused')
  })
})
