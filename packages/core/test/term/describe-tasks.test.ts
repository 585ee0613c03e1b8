import { expect, test } from 'vitest'
import { describeTasks } from '../../src/term/describe-tasks.ts'

test('the tasks of a term are listed with age, place, and what each waited on last if that is known', () => {
  const task = { name: 'sweep', controller: 'janitor', ageMs: 12.4, spawnedAt: '/app/janitor.js:7:3' }
  expect(describeTasks([])).toBe('')
  expect(
    describeTasks([
      { ...task, waitsOn: undefined },
      { ...task, name: 'export', waitsOn: 'term.sleep 20 ms' },
    ]),
  ).toBe(
    'janitor/sweep (12 ms, started at /app/janitor.js:7:3), ' +
      'janitor/export (12 ms, started at /app/janitor.js:7:3, last waited on term.sleep 20 ms)',
  )
})
