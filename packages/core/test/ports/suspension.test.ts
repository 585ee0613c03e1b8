import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../../src/ports/clock.ts'
import { SUSPENSION_CHECK_MS, SuspensionMeter, SuspensionWatch } from '../../src/ports/suspension.ts'

/** What `/proc/uptime` resolves. */
const RESOLUTION_MS = 10

/** A machine with the three clocks, whose boot clock counts whole hundredths of a second. */
class Machine {
  monotonicMs = 5000
  bootMs = 7003
  wallMs = 1e12
  readings = 0
  readonly meter = new SuspensionMeter({
    monotonic: () => this.monotonicMs,
    boot: () => {
      this.readings++
      return Math.floor(this.bootMs / RESOLUTION_MS) * RESOLUTION_MS
    },
    wall: () => Math.floor(this.wallMs),
  })

  run(ms: number): void {
    this.monotonicMs += ms
    this.bootMs += ms
    this.wallMs += ms
  }

  suspend(ms: number): void {
    this.bootMs += ms
    this.wallMs += ms
  }
}

describe('the meter of suspensions', () => {
  test('counts a suspension at the next question, however soon that comes', () => {
    const machine = new Machine()
    const before = machine.meter.aheadMs()
    machine.run(1)
    machine.suspend(60_000)
    expect(machine.meter.aheadMs() - before).toBeGreaterThan(60_000 - 2 * RESOLUTION_MS)
  })

  test('reads the boot clock at most every 10 ms while the wall clock goes on as it should', () => {
    const machine = new Machine()
    for (let ms = 0; ms < 1000; ms += 0.01) {
      machine.run(0.01)
      machine.meter.aheadMs()
    }
    expect(machine.readings).toBeLessThanOrEqual(101)
  })

  test('ends and prolongs nothing when the wall clock is set, forwards or backwards', () => {
    const machine = new Machine()
    for (let ms = 0; ms < 1000; ms += 7) {
      machine.run(7)
      machine.meter.aheadMs()
    }
    const before = machine.meter.aheadMs()
    for (const step of [3_600_000, -7_200_000, 5]) {
      machine.wallMs += step
      expect(machine.meter.aheadMs()).toBe(before)
    }
  })

  test('counts a suspension during which the wall clock was set back, as soon as it reads the boot clock again', () => {
    const machine = new Machine()
    const before = machine.meter.aheadMs()
    machine.suspend(60_000)
    machine.wallMs -= 60_000
    machine.run(10)
    expect(machine.meter.aheadMs() - before).toBeGreaterThan(60_000 - 2 * RESOLUTION_MS)
  })

  test('never shrinks, never tells more than the truth, and is short of it by 10 ms at most, whatever happens', () => {
    const happening = fc.oneof(
      fc.record({ kind: fc.constant('run'), ms: fc.double({ min: 0, max: 5000, noNaN: true }) }),
      fc.record({ kind: fc.constant('suspend'), ms: fc.double({ min: 0, max: 1e7, noNaN: true }) }),
      fc.record({ kind: fc.constant('step'), ms: fc.double({ min: -1e7, max: 1e7, noNaN: true }) }),
    )
    fc.assert(
      fc.property(fc.array(happening), (happenings) => {
        const machine = new Machine()
        let last = machine.meter.aheadMs()
        for (const { kind, ms } of happenings) {
          if (kind === 'run') machine.run(ms)
          if (kind === 'suspend') machine.suspend(ms)
          if (kind === 'step') machine.wallMs += ms
          const aheadMs = machine.meter.aheadMs()
          const truth = machine.bootMs - machine.monotonicMs
          expect(aheadMs).toBeGreaterThanOrEqual(last)
          expect(aheadMs).toBeLessThanOrEqual(truth + 1e-3)
          last = aheadMs
        }
        machine.run(RESOLUTION_MS)
        expect(machine.bootMs - machine.monotonicMs - machine.meter.aheadMs()).toBeLessThanOrEqual(RESOLUTION_MS + 1e-3)
      }),
    )
  })
})

describe('the meter of suspensions reads the boot clock', () => {
  test.each([
    [3, 0],
    [4, 1],
    [-3, 0],
    [-4, 1],
  ])('after a step of the wall clock by %i ms %i times', (step, times) => {
    const machine = new Machine()
    machine.meter.aheadMs()
    const before = machine.readings
    machine.wallMs += step
    machine.meter.aheadMs()
    expect(machine.readings - before).toBe(times)
  })

  test('from 10 ms after the last time on, and not before', () => {
    const machine = new Machine()
    machine.meter.aheadMs()
    machine.run(9)
    machine.meter.aheadMs()
    expect(machine.readings).toBe(1)
    machine.run(1)
    machine.meter.aheadMs()
    expect(machine.readings).toBe(2)
  })

  test('for 20 ms when it settles', () => {
    let now = 5000
    let readings = 0
    const boot = () => ((now += 1), (readings += 1), 7000)
    new SuspensionMeter({ monotonic: () => now, boot, wall: () => 1e12 }).settle()
    expect([now, readings]).toEqual([5020, 20])
  })
})

test('the meter of suspensions answers 64 times from memory while the wall clock stands still', () => {
  let looks = 0
  const meter = new SuspensionMeter({ monotonic: () => ((looks += 1), 5000), boot: () => 7000, wall: () => 1e12 })
  meter.aheadMs()
  const first = looks
  for (let call = 0; call < 64; call++) expect(meter.aheadMs()).toBe(2000)
  expect(looks).toBe(first)
  meter.aheadMs()
  expect(looks).toBe(first + 1)
})

describe('the meter of this machine', () => {
  const { platform } = process
  afterEach(() => {
    Object.defineProperty(process, 'platform', { value: platform })
    vi.restoreAllMocks()
    vi.doUnmock('node:os')
    vi.resetModules()
  })

  /** The meter of a machine that has run for 2 s without its suspensions, and what its boot clock says. */
  async function meterOn(system: string, uptime: () => number): Promise<SuspensionMeter | undefined> {
    Object.defineProperty(process, 'platform', { value: system })
    vi.spyOn(process.hrtime, 'bigint').mockReturnValue(2_000_000_000n)
    vi.doMock(import('node:os'), async (original) => ({ ...(await original()), uptime }))
    vi.resetModules()
    return (await import('../../src/ports/suspension.ts')).machineSuspension
  }

  test.each(['linux', 'android'])('is there on %s, and knows for how long it was suspended', async (system) => {
    let [wallMs, uptime] = [1e12, 5]
    vi.spyOn(Date, 'now').mockImplementation(() => wallMs)
    const meter = await meterOn(system, () => uptime)
    expect(meter?.aheadMs()).toBe(3000)
    uptime += 60
    wallMs += 60_000
    expect(meter?.aheadMs()).toBe(63_000)
  })

  test('keeps what it knows while the boot clock cannot be read', async () => {
    let [wallMs, isBroken] = [1e12, false]
    vi.spyOn(Date, 'now').mockImplementation(() => wallMs)
    const meter = await meterOn('linux', () => (isBroken ? expect.fail('no /proc') : 5))
    expect(meter?.aheadMs()).toBe(3000)
    isBroken = true
    wallMs += 60_000
    expect(meter?.aheadMs()).toBe(3000)
  })

  test.each([
    ['on macOS', 'darwin', () => 5],
    ['where the boot clock says nothing', 'linux', () => 0],
    ['where the boot clock cannot be read', 'linux', () => expect.fail('no /proc')],
  ])('is missing %s', async (_, system, uptime) => {
    expect(await meterOn(system, uptime)).toBeUndefined()
  })
})

test('the watch for suspensions tells of one from 50 ms on', () => {
  vi.useFakeTimers()
  try {
    const machine = new Machine()
    machine.bootMs = 7000
    const watch = new SuspensionWatch(machine.meter)
    let told = 0
    const forget = watch.add(() => told++)
    const pass = (suspendedMs: number): void => {
      machine.suspend(suspendedMs)
      machine.run(SUSPENSION_CHECK_MS)
      vi.advanceTimersByTime(SUSPENSION_CHECK_MS)
    }
    pass(40)
    expect(told).toBe(0)
    pass(10)
    expect(told).toBe(1)
    pass(40)
    expect(told).toBe(1)
    forget()
  } finally {
    vi.useRealTimers()
  }
})

describe('the watch for suspensions', () => {
  test('tells everybody of one within 100 ms, and nobody of anything else, and leaves no timer', () => {
    vi.useFakeTimers()
    try {
      const machine = new Machine()
      const watch = new SuspensionWatch(machine.meter)
      const told: string[] = []
      const forget = [watch.add(() => told.push('a')), watch.add(() => told.push('b'))]
      const pass = (ms: number): void => {
        machine.run(ms)
        vi.advanceTimersByTime(ms)
      }
      pass(1000)
      machine.wallMs += 1e6
      pass(1000)
      expect(told).toEqual([])
      machine.suspend(500)
      pass(SUSPENSION_CHECK_MS)
      expect(told).toEqual(['a', 'b'])
      forget[0]?.()
      machine.suspend(500)
      pass(1000)
      expect(told).toEqual(['a', 'b', 'b'])
      forget[1]?.()
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('the clock of this machine', () => {
  test('never goes back, and goes on as the monotonic clock does', () => {
    const [clock, monotonic] = [systemClock.now(), performance.now()]
    for (let last = clock; performance.now() - monotonic < 50;) {
      const now = systemClock.now()
      expect(now).toBeGreaterThanOrEqual(last)
      last = now
    }
    expect(Math.abs(systemClock.now() - clock - (performance.now() - monotonic))).toBeLessThan(2 * RESOLUTION_MS)
  })

  test('stands still where a test fakes the timers', () => {
    vi.useFakeTimers()
    try {
      const now = systemClock.now()
      vi.advanceTimersByTime(60_000)
      const passed = systemClock.now() - now
      expect(passed).toBeGreaterThanOrEqual(60_000)
      expect(passed).toBeLessThan(60_000 + 2 * RESOLUTION_MS)
    } finally {
      vi.useRealTimers()
    }
  })
})
