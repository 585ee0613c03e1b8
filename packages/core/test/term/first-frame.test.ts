import { describe, expect, test } from 'vitest'
import { firstFrame } from '../../src/term/first-frame.ts'

function stackOf(...frames: readonly string[]): string {
  return ['Error: message', ...frames.map((frame) => `    at ${frame}`)].join('\n')
}

describe('The place where a task was started', () => {
  test.each([
    ['source', 'TaskScope.spawn (file:///work/packages/core/src/term/task-scope.ts:271:11)'],
    ['source on Windows', 'TaskScope.spawn (C:\\work\\packages\\core\\src\\term\\task-scope.ts:271:11)'],
    ['source of the supervisor', 'Supervisor.start (/work/packages/core/src/controller/supervisor.ts:3:11)'],
    ['source of the candidacy', 'Candidacy.start (/work/packages/core/src/candidacy/candidacy.ts:3:11)'],
    ['the published package', 'TaskScope.spawn (file:///app/node_modules/@tenure/core/dist/chunks/shared.js:2300:9)'],
    ['an entry of the published package', 'run (file:///app/node_modules/@tenure/core/dist/index.js:2300:9)'],
    ['the published package on Windows', 'run (C:\\app\\node_modules\\@tenure\\core\\dist\\index.js:2300:9)'],
    ['the built package in its repository', 'TaskScope.spawn (/work/packages/core/dist/chunks/shared.js:2300:9)'],
    ['the source of the leak detector', 'wrapped (/work/packages/testing/src/leaks/kinds/task.ts:12:7)'],
    ['the published leak detector', 'wrapped (C:\\app\\@tenure\\testing\\dist\\leaks\\kinds\\task.js:12:7)'],
    ['Node', 'node:internal/process/task_queues:103:5'],
    ['Node, in an async function', 'async node:internal/modules/run_main:117:5'],
  ])('is outside of %s', (_where, frame) => {
    expect(firstFrame(stackOf(frame, 'run (/app/janitor.js:7:3)'))).toBe('/app/janitor.js:7:3')
  })

  test.each([
    ['a file URL', 'run (file:///app/janitor.js:7:3)', 'file:///app/janitor.js:7:3'],
    ['a path', 'Janitor.run (/app/janitor.js:17:23)', '/app/janitor.js:17:23'],
    ['a path of Windows', 'Janitor.run (C:\\app\\janitor.js:7:3)', 'C:\\app\\janitor.js:7:3'],
    ['a frame without a function', 'file:///app/janitor.js:7:3', 'file:///app/janitor.js:7:3'],
    ['a package of the user with the name core', 'run (/app/core/dist/index.js:7:3)', '/app/core/dist/index.js:7:3'],
    ['a folder of the user', 'run (/app/core/src/jobs/janitor.js:7:3)', '/app/core/src/jobs/janitor.js:7:3'],
    ['leaks of the user', 'run (/app/src/leaks/janitor.js:7:3)', '/app/src/leaks/janitor.js:7:3'],
    [
      'a folder with a name like a frame of Node',
      'run (/app/look at node:fs/a.js:7:3)',
      '/app/look at node:fs/a.js:7:3',
    ],
    ['a function with a name like a module of Node', 'new node:x (/app/janitor.js:7:3)', '/app/janitor.js:7:3'],
  ])('is given for %s', (_what, frame, place) => {
    expect(firstFrame(stackOf(frame, 'other (/app/other.js:1:1)'))).toBe(place)
  })

  test('is the first frame where all belong to the package, because one file may hold the package and the program', () => {
    const own = ['/work/core/src/term/task-scope.ts:2:1', '/work/core/src/controller/supervisor.ts:3:1']
    expect(firstFrame(stackOf(...own.map((place) => `run (${place})`)))).toBe(own[0])
  })

  test.each([
    ['there is no stack', undefined],
    ['the stack has no frame', 'Error: message'],
    ['the frame names no file', stackOf('new Promise (<anonymous>)')],
    ['the frame names no place in its file', stackOf('run (/app/janitor.js)')],
    ['the frame is of evaluated text', stackOf('eval (eval at run (/app/janitor.js:7:3), <anonymous>:1:1)')],
  ])('is unknown where %s', (_when, stack) => {
    expect(firstFrame(stack)).toBe('unknown')
  })
})
