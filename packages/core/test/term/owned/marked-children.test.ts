import type { ChildProcess } from 'node:child_process'
import { channel } from 'node:diagnostics_channel'
import { afterEach, describe, expect, test } from 'vitest'
import { markChildren } from '../../../src/term/owned/marked-children.ts'

const VARIABLE = '_TENURE_TERM'
const { platform } = process

afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
  delete process.env[VARIABLE]
})

interface Request {
  detached?: boolean
  envPairs?: readonly string[]
}

/** A child that is about to be started with this request, as Node reports it. */
function starts(request: Request): { child: ChildProcess; request: Request; started: () => unknown } {
  const proto = { spawn: (given: Request) => (Object.assign(request, given), 'started') }
  const child = Object.create(proto) as ChildProcess & { spawn: (request: Request) => unknown }
  channel('child_process').publish({ process: child })
  return { child, request, started: () => child.spawn(request) }
}

describe('The children that a call starts', () => {
  test('are noted, and have the token in their environment', () => {
    const children: ChildProcess[] = []
    const { child, request, started } = markChildren('a;', children, () =>
      starts({ envPairs: ['A=1', `${VARIABLE}=x`] }),
    )
    expect(children).toEqual([child])
    expect(Object.hasOwn(child, 'spawn')).toBe(true)
    expect(started()).toBe('started')
    expect(request).toEqual({ envPairs: ['A=1', `${VARIABLE}=a;`], detached: true })
    expect(Object.hasOwn(child, 'spawn')).toBe(false)
  })

  test('have the tokens of all owners, outermost first, also without an environment of their own', () => {
    process.env[VARIABLE] = 'outer;'
    const { request, started } = markChildren('inner;', [], () => starts({}))
    started()
    expect(request.envPairs).toEqual([`${VARIABLE}=outer;inner;`])
  })

  test.each([
    ['win32', undefined, false],
    ['win32', true, true],
    ['linux', false, true],
    ['darwin', undefined, true],
  ])('on %s with `detached: %s` lead a session: %s', (system, detached, leads) => {
    Object.defineProperty(process, 'platform', { value: system })
    const { request, started } = markChildren('a;', [], () => starts(detached === undefined ? {} : { detached }))
    started()
    expect(request.detached).toBe(leads)
  })

  test('are noted where they cannot be marked', () => {
    const children: ChildProcess[] = []
    const child = {} as ChildProcess
    markChildren('a;', children, () => channel('child_process').publish({ process: child }))
    expect([children, child]).toEqual([[child], {}])
  })

  test('are those of this call alone', () => {
    const children: ChildProcess[] = []
    markChildren('a;', children, () => {})
    starts({})
    expect(children).toEqual([])
  })
})

describe('The environment of this process', () => {
  test('has the token during the call', () => {
    expect(markChildren('a;', [], () => process.env[VARIABLE])).toBe('a;')
    expect(VARIABLE in process.env).toBe(false)
    process.env[VARIABLE] = 'outer;'
    expect(markChildren('a;', [], () => process.env[VARIABLE])).toBe('outer;a;')
    expect(process.env[VARIABLE]).toBe('outer;')
  })

  test('is as before when the call throws, and nothing is noted after it', () => {
    const children: ChildProcess[] = []
    expect(() => markChildren('a;', children, () => expect.fail('no fork'))).toThrow('no fork')
    starts({})
    expect([VARIABLE in process.env, children]).toEqual([false, []])
  })
})
