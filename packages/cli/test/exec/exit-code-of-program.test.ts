import { describe, expect, it } from 'vitest'
import { exitCodeOfEnd, exitCodeOfStop } from '../../src/exec/exit-code-of-program.ts'

describe('exitCodeOfEnd()', () => {
  it('is the code of a program that exited, and 128 plus the number of the signal that ended it', () => {
    expect(exitCodeOfEnd({ exitCode: 3, signal: null })).toBe(3)
    expect(exitCodeOfEnd({ exitCode: null, signal: 'SIGKILL' })).toBe(137)
  })
})

describe('exitCodeOfStop()', () => {
  it('is 0 without a program, and after a failure before the stop', () => {
    expect(exitCodeOfStop(undefined, 'SIGTERM')).toBe(0)
    expect(exitCodeOfStop({ exitCode: 3, signal: null, wasAsked: false }, 'SIGTERM')).toBe(0)
  })

  it.each([
    ['dies of SIGTERM', { exitCode: null, signal: 'SIGTERM' }, 0],
    ['reports SIGTERM as its code', { exitCode: 143, signal: null }, 0],
    ['exits with a code of its own', { exitCode: 9, signal: null }, 9],
    ['had to be killed', { exitCode: null, signal: 'SIGKILL' }, 137],
  ] as const)('after a stop of a program that %s', (_, end, code) => {
    expect(exitCodeOfStop({ ...end, wasAsked: true }, 'SIGTERM')).toBe(code)
  })

  it('is 0 for a death by the stop signal that was chosen, and by no other signal', () => {
    const end = { exitCode: null, signal: 'SIGINT', wasAsked: true } as const
    expect(exitCodeOfStop(end, 'SIGINT')).toBe(0)
    expect(exitCodeOfStop({ exitCode: 130, signal: null, wasAsked: true }, 'SIGINT')).toBe(0)
    expect(exitCodeOfStop(end, 'SIGTERM')).toBe(130)
  })
})
