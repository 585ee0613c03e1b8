import type { TermStory } from '../record/chronicle.ts'
import { takeovers } from '../record/handovers.ts'
import { formatMs } from '../terminal/format-ms.ts'
import { DidNotHappenError } from './progress.ts'
import { leader, nameWithPid, type Stage } from './stage.ts'

/**
 * Waits for the successor of a leader whose process has ended, and tells about it.
 * @throws DidNotHappenError when the lease was freed by a write, which only a drained leader may send
 */
export async function succession(stage: Stage, term: TermStory): Promise<void> {
  const successor = await leader(stage, term)
  const seen = await stage.progress.until('the observer sees the succession', () =>
    stage.observer.terms.find(({ epoch, end }) => epoch === term.epoch && end !== 'lasts'),
  )
  if (seen.end !== 'taken') throw new DidNotHappenError('a lease that expires: it was released')
  const takeover = takeovers(stage.chronicle.terms).find(({ from }) => from.epoch === term.epoch)
  stage.tell('nobody released the lease: it expired')
  stage.tell(`${nameWithPid(successor.replica)} leads after ${formatMs(takeover?.ms ?? NaN)}`)
}
