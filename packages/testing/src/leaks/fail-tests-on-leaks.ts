import { relative } from 'node:path'
import { assertKnownKeys } from '@tenure/core/internal'
import { LEAK_WATCH_OPTION_NAMES, type LeakWatchOptions, resolveLeakWatchOptions } from './options.ts'
import { beginWatch, type LeakWatch } from './watch-for-leaks.ts'
import type { WatchPlace } from './watch-place.ts'

/** A test, as the test runner describes it. */
interface RunningTest {
  readonly name: string
  /** The name of the test with the names of its suites. */
  readonly fullTestName?: string
  readonly file?: { readonly filepath: string }
}

/** The hooks that a test runner must provide. The hooks of vitest match. */
export interface TestHooks {
  readonly beforeEach: (
    hook: (context: {
      readonly onTestFinished: (callback: () => Promise<void>) => void
      readonly task?: RunningTest
    }) => void,
  ) => void
}

interface SharedWatch {
  readonly leaks: LeakWatch
  readonly tests: RunningTest[]
}

/**
 * Fails every test that leaks. The check runs after all hooks of the test. Call this function in a setup file.
 *
 * Tests that run at the same time in one process are checked together when the last of them ends.
 *
 * @example
 * ```ts
 * import { beforeEach } from 'vitest'
 * failTestsOnLeaks({ beforeEach }, { ignore: { kinds: ['keep-alive-socket'] } })
 * ```
 * @throws OptionsError that names the invalid option.
 */
export function failTestsOnLeaks({ beforeEach }: TestHooks, options: LeakWatchOptions = {}): void {
  assertKnownKeys('`failTestsOnLeaks()`', options, LEAK_WATCH_OPTION_NAMES)
  const resolved = resolveLeakWatchOptions(options)
  let watch: SharedWatch | undefined
  let running = 0
  const begin = (): SharedWatch => {
    const tests: RunningTest[] = []
    return { tests, leaks: beginWatch(resolved, () => placeOfTests(tests)) }
  }
  beforeEach(({ onTestFinished, task }) => {
    running++
    const shared = (watch ??= begin())
    if (task !== undefined) shared.tests.push(task)
    onTestFinished(async () => {
      running--
      if (running > 0) return
      watch = undefined
      await shared.leaks.assertNone()
    })
  })
}

function placeOfTests(tests: readonly RunningTest[]): WatchPlace {
  const files = tests.flatMap(({ file }) => (file === undefined ? [] : [relative(process.cwd(), file.filepath)]))
  const names = tests.map(({ name, fullTestName }) => fullTestName ?? name)
  return { site: [...new Set(files)].join(', '), test: names.join('`, `') }
}
