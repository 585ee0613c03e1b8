import '@tenure/core/supported-node'
import { beforeEach } from 'vitest'
import { failTestsOnLeaks } from './fail-tests-on-leaks.ts'

// A setup file of vitest: `setupFiles: ['@tenure/testing/vitest-leaks']`. For options, call `failTestsOnLeaks()` in your own file.
// Reachable objects do not count here, because a suite may keep a Term in a variable that its tests share.
failTestsOnLeaks({ beforeEach }, { retained: false })
