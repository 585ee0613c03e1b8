import { beforeEach } from 'vitest'
import { failTestsOnLeaks } from './fail-tests-on-leaks.ts'

// A setup file of vitest: `setupFiles: ['@tenure/testing/vitest-leaks']`. For options, write one that calls it itself.
failTestsOnLeaks({ beforeEach })
