import '@tenure/core/supported-node'

export { expectNoLeaks, type ExpectNoLeaksOptions, type LeakTestKit } from './expect-no-leaks.ts'
export { failTestsOnLeaks } from './fail-tests-on-leaks.ts'
export type { Leak, SiteKind } from './leak.ts'
export { LeakError } from './leak-error.ts'
export { type LeakKind } from './leak-kind.ts'
export type { LeakWatchOptions } from './options.ts'
export { leakFree, type LeakWatch, watchForLeaks } from './watch-for-leaks.ts'
