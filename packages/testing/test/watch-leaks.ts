import { beforeEach, expect } from 'vitest'
import { failTestsOnLeaks } from '../src/leaks/index.ts'

/** Whose tests must leave nothing behind. */
const WATCHED = /[\\/]packages[\\/](?:cli|ops|tenure)[\\/]test[\\/]/

/*
 * A setup file of the unit tests. A suite may well keep a Term in a variable that its tests share, so what is merely reachable does
 * not count.
 */
if (WATCHED.test(expect.getState().testPath ?? '')) failTestsOnLeaks({ beforeEach }, { retained: false })
