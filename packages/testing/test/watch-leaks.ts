import { beforeEach, expect } from 'vitest'
import { failTestsOnLeaks, type LeakKind } from '../src/leaks/index.ts'

/** Whose tests must leave nothing behind. */
const WATCHED =
  /[\\/]packages[\\/](?:api-server|cli|core|file-lock|kubernetes|ops|simulator|tenure|testing)[\\/]test[\\/]/

/** What is about the watch itself, and must see it begin. */
const UNWATCHED = /[\\/]testing[\\/]test[\\/]leaks[\\/](?!replace-property)[\w-]+\.test\.ts$/

/** What tests leave behind on purpose, or cannot help. */
const EXCEPTIONS: readonly (readonly [file: RegExp, kind: LeakKind])[] = [
  // Tasks that never end, and replicas that crash in the middle of theirs, on a virtual clock that stops.
  [/[\\/]core[\\/]test[\\/]drain[\\/]adversarial-drain\.test\.ts$/, 'task'],
  [/[\\/]kubernetes[\\/]test[\\/]multi-lock[\\/]migration\.test\.ts$/, 'task'],
  [
    /[\\/]simulator[\\/]test[\\/](?:cached-reads|coordination|desired-state|lead-for-life|oracles|rollouts|shrink|simulate|stale-acts|strategies)\.test\.ts$/,
    'task',
  ],
  // The pools of client-node cannot be closed.
  [/[\\/]kubernetes[\\/]test[\\/]embedded-server\.test\.ts$/, 'keep-alive-socket'],
]

/*
 * A setup file of the unit tests. A suite may well keep a Term in a variable that its tests share, so what is merely reachable does
 * not count.
 */
const path = expect.getState().testPath ?? ''
if (WATCHED.test(path) && !UNWATCHED.test(path)) {
  const kinds = EXCEPTIONS.flatMap(([file, kind]) => (file.test(path) ? [kind] : []))
  failTestsOnLeaks({ beforeEach }, { retained: false, ignore: { kinds } })
}
