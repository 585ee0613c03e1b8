import { textOf } from '@tenure/core/internal'
import type { DesiredState } from '../desired-state.ts'
import { writerOf } from '../store/store-write.ts'
import type { Oracle } from './oracle.ts'

/**
 * O14, with the option `desired`. Checked only in periods without faults, from a bounded time after their beginning on. A change of
 * leader is no fault: the next one must not leave the state.
 */
export const eventuallyStable: Oracle = {
  id: 'O14',
  rule: 'Without faults the store reaches the desired state within a bounded time and stays in it when the leader changes.',
  judge(run, violated) {
    const { desired } = run
    if (desired === undefined) return {}
    const boundMs = run.longestVacancyMs + desired.withinMs
    const values = new Map<string, unknown>()
    /** When the state is due; undefined while there are faults. */
    let dueAt: number | undefined
    const judgeState = (otherwise: string) => {
      const answer = answerOf(desired, values)
      if (answer === true) return
      violated(answer === false ? `${otherwise}. It has ${textOf(values)}` : answer)
    }
    return {
      calm: () => {
        const at = run.now + boundMs
        dueAt = at
        run.agenda.add(at, () => {
          if (dueAt === at) judgeState(`${boundMs} ms after the last fault the store is not in the desired state`)
        })
      },
      disturbed: () => {
        dueAt = undefined
      },
      stored: ({ write }) => {
        values.set(write.key, write.value)
        if (dueAt === undefined || run.now <= dueAt) return
        judgeState(`${writerOf(write)} wrote \`${write.key}\`, and the store left the desired state`)
      },
    }
  },
}

/** What `isReached()` says, or what is wrong with it. An exception must not reach the controller, which may catch it. */
function answerOf({ isReached }: DesiredState, values: ReadonlyMap<string, unknown>): boolean | string {
  try {
    const answer: unknown = isReached(new Map(values))
    if (typeof answer === 'boolean') return answer
    return `expected \`desired.isReached()\` to return a boolean, got ${textOf(answer)}`
  } catch (error) {
    return `\`desired.isReached()\` threw ${textOf(error)}`
  }
}
