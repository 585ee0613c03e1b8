import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { FamilyEnd, FirstEnd } from '../../../src/term/owned/family-end.ts'
import type { ProcessFamily } from '../../../src/term/owned/process-family.ts'
import type { ControllerTerm } from '../../../src/term/controller-term.ts'
import { ENDED, freshTerm } from '../../support/fresh-term.ts'

/** What was done to the family, and the pauses between the checks of it. */
let log: unknown[] = []
/** The processes that run. */
let running: number[] = []
/** What happens during each pause. Afterwards all processes end. */
let pauses: (() => void)[] = []
let create: (term: ControllerTerm) => FamilyEnd

beforeEach(async () => {
  log = []
  running = []
  pauses = []
  vi.resetModules()
  vi.doMock('node:timers/promises', () => ({
    setTimeout: async (ms: number) => {
      log.push(ms)
      const during = pauses.shift() ?? (() => (running = []))
      during()
    },
  }))
  const family: Pick<ProcessFamily, 'search' | 'signal' | 'running'> = {
    search: () => (log.push('search'), running),
    signal: (signal) => (log.push(signal), running),
    running: () => running,
  }
  const started = { family: family as ProcessFamily, forget: () => void log.push('forget family') }
  const module = await import('../../../src/term/owned/family-end.ts')
  create = (term) => new module.FamilyEnd(term, started)
})

afterEach(() => {
  vi.doUnmock('node:timers/promises')
  vi.resetModules()
})

/** How the first process ended: well, unless there is a failure. */
function firstEnd(failure?: FirstEnd['failure']): FirstEnd & { readonly task: { waitsOn: string | undefined } } {
  return { name: 'child job', task: { waitsOn: undefined }, failure, forget: () => void log.push('forget') }
}

const nothing = () => {}

describe('The end of the processes that a first one has started', () => {
  test('is there at once where none runs, and all is forgotten', async () => {
    const { term } = freshTerm()
    await create(term).finish(firstEnd())
    expect(log).toEqual(['forget', 'forget family'])
  })

  test('is waited for with pauses that grow', async () => {
    const { term } = freshTerm()
    running = [7]
    pauses = [nothing, nothing, nothing, nothing, nothing]
    const end = firstEnd()
    await create(term).finish(end)
    expect(log).toEqual([5, 10, 20, 40, 50, 50, 'forget', 'forget family'])
    expect(end.task.waitsOn).toBe('process 7 to end')
  })

  test.each([
    [[7, -8], 'process 7, group 8 to end'],
    [[1, 2, 3, 4, 5], 'process 1, process 2, process 3, process 4, process 5 to end'],
    [[1, 2, 3, 4, 5, 6, 7], 'process 1, process 2, process 3, process 4, process 5 and 2 more to end'],
  ])('names %j as what it waits for', async (pids, waitsOn) => {
    const { term } = freshTerm()
    running = pids
    const end = firstEnd()
    await create(term).finish(end)
    expect(end.task.waitsOn).toBe(waitsOn)
  })

  test('is asked for once, and is there where no process was found then', async () => {
    const { term } = freshTerm()
    const family = create(term)
    family.find()
    family.ask()
    running = [7]
    family.ask()
    await family.finish(firstEnd())
    expect(log).toEqual(['search', 'SIGTERM', 'forget', 'forget family'])
  })

  test('is waited for after it was asked for', async () => {
    const { term } = freshTerm()
    running = [7]
    const family = create(term)
    family.ask()
    const end = firstEnd()
    await family.finish(end)
    expect(log).toEqual(['SIGTERM', 5, 'forget', 'forget family'])
    expect(end.task.waitsOn).toBe('process 7 to end after SIGTERM')
  })

  test('is forced again after each pause, also for those that are found later', async () => {
    const { term } = freshTerm()
    running = [7]
    const family = create(term)
    family.ask()
    const end = firstEnd()
    pauses = [() => family.kill(), () => (running = [8])]
    await family.finish(end)
    expect(log).toEqual(['SIGTERM', 5, 'SIGKILL', 'SIGKILL', 10, 'SIGKILL', 20, 'SIGKILL', 'forget', 'forget family'])
    expect(end.task.waitsOn).toBe('process 8 to end after SIGKILL')
  })

  test('is not asked for any more once it was forced', async () => {
    const { term } = freshTerm()
    const family = create(term)
    family.kill()
    family.ask()
    await family.finish(firstEnd())
    expect(log).toEqual(['SIGKILL', 'forget', 'forget family'])
  })
})

describe('The failure of the first process', () => {
  const error = new Error('exit code 3')

  test('is reported at once, and the others have a task of their own', async () => {
    const { term, failures } = freshTerm()
    running = [7]
    const during = Promise.withResolvers<void>()
    pauses = [() => during.resolve()]
    const finished = create(term).finish(firstEnd({ error }))
    expect(term.scope.liveTasks()).toMatchObject([
      { name: 'processes that child job left', waitsOn: 'process 7 to end' },
    ])
    await expect(finished).rejects.toBe(error)
    await term.scope.join()
    expect([log, failures]).toEqual([[5, 10, 'forget', 'forget family'], []])
  })

  test('is reported after the end where no other process runs', async () => {
    const { term } = freshTerm()
    await expect(create(term).finish(firstEnd({ error }))).rejects.toBe(error)
    expect(log).toEqual(['forget', 'forget family'])
    expect(term.taskCount).toBe(0)
  })

  test('is reported after the end of all where the term ends, too', async () => {
    const { term } = freshTerm()
    running = [7]
    term.end(ENDED)
    await expect(create(term).finish(firstEnd({ error }))).rejects.toBe(error)
    expect(log).toEqual([5, 'forget', 'forget family'])
  })
})
