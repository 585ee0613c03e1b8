import { assertKnownKeys } from '@tenure/core/internal'
import { startRecording } from './detector.ts'
import { LeakError } from './leak-error.ts'
import { LeakFinder } from './leak-finder.ts'
import type { Leak } from './leak.ts'
import {
  LEAK_WATCH_OPTION_NAMES,
  type LeakWatchOptions,
  resolveLeakWatchOptions,
  type ResolvedLeakWatchOptions,
} from './options.ts'
import { takeTrace } from './trace.ts'
import { placeOfCall, type WatchPlace } from './watch-place.ts'

/** Watches everything that this process creates after the watch began. */
export interface LeakWatch {
  /**
   * Checks for leaks and ends the watch. Does not throw a leak again that another watch has already thrown.
   * @throws LeakError (as a rejection) that names every leak, where it was created, and its controller.
   */
  assertNone(): Promise<void>
  /** Returns the current leaks, after the grace. The watch continues. */
  find(): Promise<readonly Leak[]>
  /** Requires that `object` is garbage by the end of the watch. The report shows `name`. Holds `object` weakly. */
  expectCollected(object: object, name: string): void
  /** Ends the watch without a check. When the last watch ends, every patch is removed. */
  end(): void
  /** Ends the watch without a check, as `end()` does. */
  [Symbol.dispose](): void
}

/**
 * Begins to watch for leaks: timers, listeners, sockets, files, processes, threads, tasks, metrics,
 * health checks, Terms and Controllers.
 *
 * For tests only: during a watch, async hooks are enabled and many functions of Node are wrapped. Tests that run at the same time in
 * one process see each other's leaks.
 *
 * @example
 * ```ts
 * const leaks = watchForLeaks()
 * await runTheThing()
 * await leaks.assertNone()
 * ```
 * @throws OptionsError that names the invalid option.
 */
export function watchForLeaks(options: LeakWatchOptions = {}): LeakWatch {
  assertKnownKeys('`watchForLeaks()`', options, LEAK_WATCH_OPTION_NAMES)
  const trace = takeTrace()
  return beginWatch(resolveLeakWatchOptions(options), () => placeOfCall(trace))
}

/** Like {@link watchForLeaks}, but the caller provides the place of the watch. */
export function beginWatch(resolved: ResolvedLeakWatchOptions, place: () => WatchPlace): LeakWatch {
  const recording = startRecording()
  const finder = new LeakFinder(recording, resolved, place)
  return {
    async assertNone() {
      const { leaks, report } = await finder.findUnreported().finally(recording.end)
      if (leaks.length > 0) throw new LeakError(report, leaks)
    },
    async find() {
      return (await finder.find()).leaks
    },
    expectCollected(object, name) {
      const ref = new WeakRef(object)
      recording.ledger.add({
        retained: ref,
        isAlive: () => ref.deref() !== undefined,
        describe: () => ({ kind: 'kept-object', detail: name }),
      })
    },
    end: recording.end,
    [Symbol.dispose]: recording.end,
  }
}

/** Wraps the body of a test, so that the test fails if it leaks. Works with every test runner. */
export function leakFree<T extends unknown[]>(
  body: (...args: T) => unknown,
  options: LeakWatchOptions = {},
): (...args: T) => Promise<void> {
  assertKnownKeys('`leakFree()`', options, LEAK_WATCH_OPTION_NAMES)
  const resolved = resolveLeakWatchOptions(options)
  const trace = takeTrace()
  return async (...args) => {
    const leaks = beginWatch(resolved, () => placeOfCall(trace))
    try {
      await body(...args)
    } catch (error) {
      leaks.end()
      throw error
    }
    await leaks.assertNone()
  }
}
