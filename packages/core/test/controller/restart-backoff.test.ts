import { describe, expect, test } from 'vitest'
import { VirtualClock } from '../../../testing/src/virtual-clock/virtual-clock.ts'
import { RestartBackoff } from '../../src/controller/restart-backoff.ts'
import { resolveRestartOptions, type RestartOptions } from '../../src/controller/restart-options.ts'
import {
  ControllerFailedError,
  ControllerReturnedError,
  ControllerRestartError,
  TerminalError,
} from '../../src/controller/terminal-error.ts'
import { OptionsError } from '../../src/options/options-error.ts'

const BOOM = new Error('boom')

function backoffOf(options: RestartOptions = {}, random = 0) {
  const clock = new VirtualClock()
  return {
    clock,
    backoff: new RestartBackoff({ restart: resolveRestartOptions(options), clock, random: () => random }),
  }
}

describe('The pause before a restart', () => {
  test('doubles with every failure, up to 30 s', () => {
    const { backoff } = backoffOf({ maxRestarts: 100 })
    const pauses = Array.from({ length: 10 }, () => backoff.next(BOOM))
    expect(pauses).toEqual([200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  })

  test('is longer by chance, so that the replicas do not restart together', () => {
    const { backoff } = backoffOf({}, 0.5)
    const [first = 0, second = 0] = [backoff.next(BOOM), backoff.next(BOOM)]
    expect(first).toBeGreaterThan(200)
    expect(second).toBe(2 * first)
  })

  test('starts again with the first one after a time without failures', async () => {
    const { backoff, clock } = backoffOf({ withinMs: 1000 })
    expect([backoff.next(BOOM), backoff.next(BOOM)]).toEqual([200, 400])
    await clock.advance(1000)
    expect(backoff.next(BOOM)).toBe(200)
  })

  test('counts each failure for its own time', async () => {
    const { backoff, clock } = backoffOf({ withinMs: 1000, maxRestarts: 2 })
    expect(backoff.next(BOOM)).toBe(200)
    await clock.advance(999)
    expect(backoff.next(BOOM)).toBe(400)
    await clock.advance(1)
    expect(backoff.next(BOOM)).toBe(400)
    expect(backoff.next(BOOM)).toBeUndefined()
  })

  test('does not come after as many restarts as are allowed', () => {
    const { backoff } = backoffOf({ maxRestarts: 1 })
    expect([backoff.next(BOOM), backoff.next(BOOM)]).toEqual([200, undefined])
    expect(backoffOf({ maxRestarts: 0 }).backoff.next(BOOM)).toBeUndefined()
  })

  test.each([new TerminalError('no such table'), new OptionsError('Expected a name')])(
    'does not come after an error that every run would meet again: %s',
    (error) => {
      const { backoff } = backoffOf()
      expect(backoff.next(error)).toBeUndefined()
      expect(backoff.next(BOOM)).toBe(200)
    },
  )
})

describe('The error of a controller', () => {
  test('says what failed, and why it will not restart', () => {
    expect(new ControllerFailedError('janitor', BOOM)).toMatchObject({
      name: 'ControllerFailedError',
      code: 'CONTROLLER_FAILED',
      message: 'Controller `janitor` failed and will not restart: boom',
      controller: 'janitor',
      cause: BOOM,
    })
    expect(new ControllerFailedError('janitor', BOOM, 'its run is stuck').message).toBe(
      'Controller `janitor` failed and will not restart: boom; its run is stuck',
    )
  })

  test('says that it returned too early', () => {
    expect(new ControllerReturnedError('janitor')).toMatchObject({
      name: 'ControllerReturnedError',
      code: 'CONTROLLER_RETURNED',
      message: 'Controller `janitor` returned, and all its tasks ended, before its term',
    })
  })

  test('says that it restarts', () => {
    expect(new ControllerRestartError('janitor', BOOM)).toMatchObject({
      name: 'ControllerRestartError',
      code: 'CONTROLLER_RESTART',
      message: 'Controller `janitor` restarts: boom',
      cause: BOOM,
    })
  })

  test('says that a restart would not help', () => {
    expect(new TerminalError('no such table', { cause: BOOM })).toMatchObject({
      name: 'TerminalError',
      code: 'TERMINAL',
      message: 'no such table',
      cause: BOOM,
    })
  })
})
