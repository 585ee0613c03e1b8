import { expect, test } from 'vitest'
import { type ExplainedCandidacy, explanationOf } from '../src/server/explanation.ts'
import { controller, manage } from './managed-ops.ts'

test('a follower and a leader say why they lead or do not lead, and a leader names its tasks', async () => {
  const work = Promise.withResolvers<void>()
  const works = controller('janitor', (term) => void term.spawn('sweep', () => work.promise))
  await using first = manage({ controllers: [works] })
  await first.start()
  expect((await first.get('/explain')).body).toMatch(/^janitor: It |^janitor: The lease /)
  await first.state('leading')
  const answer = await first.get('/explain')
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  })
  expect(answer.body).toMatch(/^janitor: It leads with epoch \d+ and may act for/)
  expect(answer.body).toMatch(
    /^janitor: It runs the task janitor\/sweep \(\d+ ms, started at .*explanation\.test\.ts:\d+:\d+\)\.$/m,
  )
  await using second = manage({ identity: 'replica-b', store: first.store })
  await second.start()
  await second.state('following')
  expect((await second.get('/explain')).body).toMatch(/^janitor: It follows replica-a\. .*\n$/)
  work.resolve()
})

test('a leader whose term ends names the task that holds up its drain, in one line', async () => {
  const work = Promise.withResolvers<void>()
  await using managed = manage({
    controllers: [controller('janitor', (term) => void term.spawn('sweep', () => work.promise))],
  })
  await managed.start()
  await managed.state('leading')
  const stopped = managed.manager.stepDown()
  await managed.state('draining')
  expect((await managed.get('/explain')).body).toMatch(
    /^janitor: Its term is ending \(step-down\): it waits for .*janitor\/sweep \(\d+ ms, started at .*\)\.\n$/,
  )
  work.resolve()
  await stopped
})

test('the explanation can only be read', async () => {
  await using managed = manage()
  await managed.start()
  expect(await managed.get('/explain', 'POST')).toMatchObject({ status: 404 })
})

/** A candidacy in this state with so many tasks. */
function candidacyWith(kind: 'leading' | 'draining', count: number): ExplainedCandidacy {
  const tasks = Array.from({ length: count }, (_, index) => ({
    controller: 'janitor',
    name: `sweep-${index}`,
    ageMs: 1,
    spawnedAt: 'janitor.ts:1:1',
  }))
  return {
    lease: 'janitor',
    state: { kind } as ExplainedCandidacy['state'],
    explain: () => 'It is explained.\n  In two lines.',
    liveTasks: () => tasks as unknown as ReturnType<ExplainedCandidacy['liveTasks']>,
  }
}

test.each([
  [0, 0, []],
  [20, 20, []],
  [21, 20, ['janitor: It runs 1 more tasks.']],
  [25, 20, ['janitor: It runs 5 more tasks.']],
])('of %d tasks of a leader the %d oldest are named, and the others counted', (count, named, more) => {
  const lines = explanationOf([candidacyWith('leading', count)]).split('\n')
  expect(lines.at(0)).toBe('janitor: It is explained. In two lines.')
  expect(lines.slice(1, named + 1).map((line) => /^janitor: It runs the task (\S+)/.exec(line)?.[1])).toEqual(
    Array.from({ length: named }, (_, index) => `janitor/sweep-${index}`),
  )
  expect(lines.slice(named + 1)).toEqual([...more, ''])
})

test('the tasks of a term that ends are left to the sentence about its drain', () => {
  expect(explanationOf([candidacyWith('draining', 3)])).toBe('janitor: It is explained. In two lines.\n')
})
