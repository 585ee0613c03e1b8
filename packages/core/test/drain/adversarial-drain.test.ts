import { afterEach, describe, expect, it, vi } from 'vitest'
import { TaskScope } from '../../src/term/task-scope.ts'
import { type DrainReport, drainOnce } from './virtual-drain.ts'

/** Of which a broken scope spoils most. */
const FEW_SEEDS = 20

async function reports(seeds: number): Promise<readonly DrainReport[]> {
  const reports: DrainReport[] = []
  for (let seed = 1; seed <= seeds; seed++) reports.push(await drainOnce(seed))
  return reports
}

function violationsIn(reports: readonly DrainReport[]): readonly string[] {
  return reports.flatMap(({ violations }) => violations)
}

afterEach(() => void vi.restoreAllMocks())

describe('the lease of a replica whose tasks misbehave', () => {
  it('is never given up while a task lives, whether the drain ends or not', async () => {
    const all = await reports(100)
    expect(violationsIn(all)).toEqual([])
    const ends = new Set(all.map(({ end }) => end))
    expect(ends).toContain('released')
    expect(ends).toContain('wedged')
  })

  it('is seen to be given up too early where a scope does not wait for its tasks', async () => {
    vi.spyOn(TaskScope.prototype, 'join').mockImplementation(function (this: TaskScope) {
      this.close()
      return Promise.resolve()
    })
    expect(violationsIn(await reports(FEW_SEEDS)).length).toBeGreaterThan(FEW_SEEDS / 2)
  })

  it('fails where a task counts as ended when its signal aborts', async () => {
    const spawn = Reflect.get(TaskScope.prototype, 'spawn')
    vi.spyOn(TaskScope.prototype, 'spawn').mockImplementation(function (this: TaskScope, name, work) {
      return spawn.call(this, name, (task) =>
        Promise.race([Promise.resolve().then(() => work(task)), Promise.resolve()]),
      )
    })
    expect(violationsIn(await reports(FEW_SEEDS)).length).toBeGreaterThan(0)
  })
})
