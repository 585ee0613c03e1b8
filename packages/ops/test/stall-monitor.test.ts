import { type Clock } from '@tenure/core'
import { silentLogger } from '@tenure/core/internal'
import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { StallMonitor } from '../src/metrics/stall-monitor.ts'

test('what is measured is by how much a timer is late, a long stall is logged, and a stopped monitor has no timer', async () => {
  let now = 0
  const timers = new Set<() => void>()
  const clock: Clock = {
    now: () => now,
    wallTime: () => now,
    setTimer(_delayMs, callback) {
      const fire = () => {
        timers.delete(fire)
        callback()
      }
      timers.add(fire)
      return { cancel: () => timers.delete(fire) }
    },
  }
  const registry = new Registry()
  const lines: unknown[] = []
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void lines.push(line) }
  const monitor = new StallMonitor(registry, clock, logger)
  monitor.start()
  for (const at of [100, 200, 3300, 3350, 4449, 5549]) {
    now = at
    const due = [...timers]
    for (const fire of due) fire()
  }
  const page = await registry.metrics()
  expect(page).toContain('tenure_event_loop_stall_seconds_bucket{le="0.01"} 3\n')
  expect(page).toMatch(/^tenure_event_loop_stall_seconds_sum 4\.999/m)
  const message = 'the event loop was blocked; nothing was renewed meanwhile'
  expect(lines).toEqual([
    [{ event: 'event-loop-stalled', stallMs: 3000 }, message],
    [{ event: 'event-loop-stalled', stallMs: 1000 }, message],
  ])
  expect(timers.size).toBe(1)
  monitor.stop()
  expect(timers.size).toBe(0)
})
