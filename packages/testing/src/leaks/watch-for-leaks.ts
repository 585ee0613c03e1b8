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

/** A watch over everything that this process creates from its beginning on. */
export interface LeakWatch {
  /**
   * Resolves when nothing is left of what was created since the beginning of the watch, and ends the watch. What another watch of the
   * same time has thrown already is not thrown again.
   * @throws LeakError (as a rejection) that names what is left, where it was created and by whom.
   */
  assertNone(): Promise<void>
  /** What is left at present, after the grace; the watch goes on. */
  find(): Promise<readonly Leak[]>
  /** From the end of the watch on, `object` must be garbage. What it is called appears in the report. Holds it weakly. */
  expectCollected(object: object, name: string): void
  /** Ends the watch without a word. When nobody watches any more, everything that was patched is put back. */
  end(): void
  [Symbol.dispose](): void
}

/**
 * Begins to watch for what is created and not cleaned up: timers, listeners, sockets, files, processes, threads, tasks, metrics,
 * health checks, Terms and Controllers.
 *
 * While anybody watches, async hooks are enabled and a number of Node's functions are wrapped, so this is for tests. Tests that
 * run at the same time in one process see each other's leaks.
 *
 * @example
 * ```ts
 * const leaks = watchForLeaks()
 * await runTheThing()
 * await leaks.assertNone()
 * ```
 * @throws OptionsError naming the option that is wrong.
 */
export function watchForLeaks(options: LeakWatchOptions = {}): LeakWatch {
  assertKnownKeys('`watchForLeaks()`', options, LEAK_WATCH_OPTION_NAMES)
  const trace = takeTrace()
  return beginWatch(resolveLeakWatchOptions(options), () => placeOfCall(trace))
}

/** The same for a watch whose place somebody else knows. */
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

/** Wraps the body of a test so that it fails when it leaves something behind. Works with every test runner. */
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
