import '@tenure/core/supported-node'

export { expectNoLeaks, type ExpectNoLeaksOptions, type LeakTestKit, type LeakTestSubject } from './expect-no-leaks.ts'
export { failTestsOnLeaks, type TestHooks } from './fail-tests-on-leaks.ts'
export type { Leak, SiteKind } from './leak.ts'
export { LeakError } from './leak-error.ts'
export { LEAK_KINDS, type LeakKind } from './leak-kind.ts'
export type { LeakIgnoreList, LeakWatchOptions } from './options.ts'
export { leakFree, type LeakWatch, watchForLeaks } from './watch-for-leaks.ts'
