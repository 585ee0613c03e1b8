import '@tenure/core/supported-node'
import { beforeEach } from 'vitest'
import { failTestsOnLeaks } from './fail-tests-on-leaks.ts'

// A setup file of vitest: `setupFiles: ['@tenure/testing/vitest-leaks']`. For options, write your own setup file with the call.
// A suite may well keep a Term in a variable that its tests share, so what is merely reachable does not count here.
failTestsOnLeaks({ beforeEach }, { retained: false })
