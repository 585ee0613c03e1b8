import { cleanHandovers } from '../record/handovers.ts'
import { formatMs } from '../terminal/format-ms.ts'
import { DidNotHappenError } from './progress.ts'
import { leader, nameWithPid, replace, type Stage } from './stage.ts'

/** The leader gets SIGTERM: it drains, releases and ends with exit code 0; another replica leads. */
export async function terminate(stage: Stage): Promise<void> {
  const { replica, term } = await leader(stage)
  stage.tell(`SIGTERM to ${nameWithPid(replica)}, which leads`)
  replica.kill('SIGTERM')
  const successor = await leader(stage, term)
  const { code, signal } = await stage.progress.until('the old leader ends', () => replica.ended)
  if (code !== 0) throw new DidNotHappenError(`exit code 0 after SIGTERM: was ${code ?? signal}`)
  const drainMs = cleanDrainMs(stage, term.epoch)
  const handover = cleanHandovers(stage.chronicle.terms).find(({ from }) => from.epoch === term.epoch)
  stage.tell(`it drained in ${formatMs(drainMs)}, released the lease and ended with exit code 0`)
  stage.tell(`${nameWithPid(successor.replica)} leads after ${formatMs(handover?.ms ?? NaN)}`)
  await replace(stage, replica)
  await stage.progress.pause(stage.pauseMs)
}

/** How long the drain of a term took. @throws DidNotHappenError when the drain was not clean or the lease was not released */
function cleanDrainMs(stage: Stage, epoch: bigint): number {
  const over = stage.chronicle.term(epoch)?.over
  if (over?.outcome === 'released' && over.drain === 'clean') return over.drainMs
  throw new DidNotHappenError(`a clean drain and a release after SIGTERM: were ${over?.drain} and ${over?.outcome}`)
}
