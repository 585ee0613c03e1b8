import { describe, expect, test } from 'vitest'
import { assertHealthy } from '../../src/candidacy/assert-healthy.ts'
import type { TermControllers } from '../../src/candidacy/term-controllers.ts'
import type { Elector } from '../../src/election/elector.ts'
import type { ElectorState } from '../../src/election/machine/state.ts'
import type { LiveTask } from '../../src/term/task-scope.ts'

const TASK: LiveTask = { name: 'sweep', controller: 'janitor', ageMs: 4000, spawnedAt: 'a.ts:1:2', waitsOn: undefined }
const RUNNING = 'janitor/sweep (4000 ms, started at a.ts:1:2)'

/** What of a term and of its elector matters. The elector is alive unless `died` says why not. */
interface Situation {
  readonly tasks?: readonly LiveTask[]
  readonly isHeld?: boolean
  readonly wedged?: Error
  readonly state?: object
  readonly died?: Error
}

function health({ tasks = [TASK], isHeld = true, wedged, state = { kind: 'leading' }, died }: Situation): () => void {
  const controllers = { wedged, liveTasks: () => tasks, leadership: { isHeld: () => isHeld } }
  const elector = {
    state: state as ElectorState,
    assertAlive: () => {
      if (died !== undefined) throw died
    },
  }
  return () => assertHealthy(elector as Elector, controllers as unknown as TermControllers)
}

describe('A replica is unhealthy', () => {
  test('while tasks run after the lease has expired, and says which', () => {
    expect(health({ isHeld: false })).toThrow(`the lease has expired while these tasks still run: ${RUNNING}`)
  })

  test('while tasks that were aborted do not end, and says which', () => {
    const state = { kind: 'draining', drain: { kind: 'aborted' } }
    expect(health({ state })).toThrow(`the drain has not ended in time, still running: ${RUNNING}`)
  })

  test('where its elector has died', () => {
    const died = new Error('the elector has died')
    expect(health({ died, tasks: [] })).toThrow(died)
  })

  test('where its term is wedged', () => {
    const wedged = new Error('wedged')
    expect(health({ wedged, tasks: [] })).toThrow(wedged)
  })
})

describe('A replica is healthy', () => {
  test.each<[string, Situation]>([
    ['while its tasks run', {}],
    ['while its tasks drain in time', { state: { kind: 'draining', drain: { kind: 'draining' } } }],
    ['while a term without a lease aborts', { state: { kind: 'aborting', drain: { kind: 'aborted' } } }],
    ['when no task runs, whatever has become of the lease', { tasks: [], isHeld: false }],
    ['when no task runs after an abort', { tasks: [], state: { kind: 'draining', drain: { kind: 'aborted' } } }],
  ])('%s', (_, situation) => {
    expect(health(situation)).not.toThrow()
  })

  test('before it stands for election', () => {
    expect(() => assertHealthy(undefined, undefined)).not.toThrow()
  })
})
