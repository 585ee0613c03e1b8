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
  const told = stage.chronicle.term(term.epoch)?.over
  if (told?.outcome !== 'released' || told.drain !== 'clean') {
    throw new DidNotHappenError(`a clean drain and a release after SIGTERM: were ${told?.drain} and ${told?.outcome}`)
  }
  const handover = cleanHandovers(stage.chronicle.terms).find(({ from }) => from.epoch === term.epoch)
  stage.tell(`it drained in ${formatMs(told.drainMs)}, released the lease and ended with exit code 0`)
  stage.tell(`${nameWithPid(successor.replica)} leads after ${formatMs(handover?.ms ?? NaN)}`)
  await replace(stage, replica)
  await stage.progress.pause(stage.pauseMs)
}
