import { assertKnownKeys } from '@tenure/core'
import { LEAK_WATCH_OPTION_NAMES, type LeakWatchOptions, resolveLeakWatchOptions } from './options.ts'
import { type LeakWatch, watchForLeaks } from './watch-for-leaks.ts'

/** What is asked of a test runner: the hooks of vitest fit as they are. */
export interface TestHooks {
  readonly beforeEach: (
    hook: (context: { readonly onTestFinished: (callback: () => Promise<void>) => void }) => void,
  ) => void
}

/**
 * Makes every test fail that leaves something behind, once all of its own hooks have run. Meant for a setup file.
 *
 * Tests that run at the same time in one process are checked together, when the last of them is over.
 *
 * @example
 * ```ts
 * import { beforeEach } from 'vitest'
 * failTestsOnLeaks({ beforeEach }, { ignore: { kinds: ['keep-alive-socket'] } })
 * ```
 * @throws OptionsError naming the option that is wrong.
 */
export function failTestsOnLeaks({ beforeEach }: TestHooks, options: LeakWatchOptions = {}): void {
  assertKnownKeys('`failTestsOnLeaks()`', options, LEAK_WATCH_OPTION_NAMES)
  resolveLeakWatchOptions(options)
  let watch: LeakWatch | undefined
  let running = 0
  beforeEach(({ onTestFinished }) => {
    running++
    const shared = (watch ??= watchForLeaks(options))
    onTestFinished(async () => {
      running--
      if (running > 0) return
      watch = undefined
      await shared.assertNone()
    })
  })
}
