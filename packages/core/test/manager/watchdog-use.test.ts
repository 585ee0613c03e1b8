import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Term } from '../../src/term/term.ts'
import { Watchdog, WatchdogDiedError, type WatchdogStart } from '../../src/watchdog/watchdog.ts'
import { never } from '../support/never.ts'
import { untilEnd } from '../support/replica.ts'
import { createManager, extension, janitor } from '../support/virtual-manager.ts'

afterEach(() => void vi.restoreAllMocks())

/** A manager whose watchdog has no thread. */
function withWatchdog(options: Parameters<typeof createManager>[0] = {}) {
  const log: string[] = []
  const starts: WatchdogStart[] = []
  const guard = (name: string) => ({
    hold: (validUntil: number) => void log.push(`hold ${name} until ${validUntil}`),
    lift: () => void log.push(`lift ${name}`),
  })
  const stop = async () => void log.push('stop watchdog')
  vi.spyOn(Watchdog, 'start').mockImplementation(async (given) => {
    log.push('start watchdog')
    starts.push(given)
    return { guard, stop } as unknown as Watchdog
  })
  return { ...createManager({ watchdog: true, extensions: [extension('a', log)], ...options }), log, starts }
}

describe('A manager with a watchdog', () => {
  test('starts it first and stops it last, with the names of all leases', async () => {
    const { manager, clock, log, starts } = withWatchdog({ watchdog: { markerFile: '/run/marker' } })
    manager.candidacy({ name: 'second' })
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(log.slice(0, 2)).toEqual(['start watchdog', 'start a'])
    expect(starts).toEqual([
      {
        markerFile: '/run/marker',
        names: ['lease', 'second'],
        clock,
        logger: expect.anything(),
        onDied: expect.any(Function),
      },
    ])
    await manager.stop()
    await running
    expect(log.slice(-2)).toEqual(['stop a', 'stop watchdog'])
  })

  test('has each term guarded under the name of its lease, from its beginning to its end', async () => {
    const { manager, clock, log } = withWatchdog()
    const terms: Term[] = []
    manager.register(() => janitor((term) => (terms.push(term), untilEnd(term))))
    const running = manager.start()
    await clock.runAllMicrotasks()
    expect(log.filter((line) => line.startsWith('hold'))).toEqual(['hold lease until 14250'])
    await clock.advance(2000)
    expect(log.at(-1)).toBe('hold lease until 16250')
    await manager.stop()
    await running
    expect(log.slice(-3)).toEqual(['lift lease', 'stop a', 'stop watchdog'])
  })

  test('ends when its thread has ended by itself', async () => {
    const { manager, clock, log, starts } = withWatchdog()
    const running = manager.start()
    const error = new WatchdogDiedError('The watchdog thread has ended by itself')
    const rejection = expect(running).rejects.toBe(error)
    await clock.runAllMicrotasks()
    starts[0]?.onDied(error)
    await clock.runAllMicrotasks()
    await rejection
    expect(log.slice(-2)).toEqual(['stop a', 'stop watchdog'])
  })

  test('does not start where the watchdog does not', async () => {
    const { manager, log, locks } = withWatchdog()
    vi.spyOn(Watchdog, 'start').mockRejectedValue(new Error('no threads'))
    await expect(manager.start()).rejects.toThrow('no threads')
    expect([log, locks]).toEqual([[], []])
  })

  test('lets it guard the tasks that cannot be stopped', async () => {
    const { manager, clock, log } = withWatchdog()
    manager.register(() => janitor(() => never()))
    const running = manager.start()
    const rejection = expect(running).rejects.toMatchObject({ code: 'WEDGED' })
    await clock.runAllMicrotasks()
    void manager.stop()
    await clock.advance(24_000)
    await rejection
    expect(log.at(-1)).toBe('stop a')
    expect(log).not.toContain('stop watchdog')
  })
})

test('A manager without a watchdog starts none, and guards nothing', async () => {
  const { manager, clock, starts } = withWatchdog({ watchdog: false })
  const running = manager.start()
  await clock.runAllMicrotasks()
  expect([manager.state.kind, starts]).toEqual(['leading', []])
  await manager.stop()
  await running
})
