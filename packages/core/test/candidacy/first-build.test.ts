import { expect, test } from 'vitest'
import { Replica, untilEnd } from '../support/replica.ts'

test('A controller whose factory throws when the term begins has failed once, and is built again', async () => {
  let builds = 0
  const error = new Error('database is down')
  const replica = await new Replica()
    .registers(() => {
      if (builds++ === 0) throw error
      return { name: 'janitor', run: untilEnd }
    })
    .start()
  expect(builds).toBe(1)
  await replica.clock.advance(200)
  expect(builds).toBe(2)
  expect(replica.all('controller-failed')).toEqual([
    expect.objectContaining({ lease: 'lease', controller: 'controller-1', error, restartInMs: 200 }),
  ])
  expect(replica.candidacy.liveTasks()).toMatchObject([{ controller: 'controller-1', name: 'run' }])
})
