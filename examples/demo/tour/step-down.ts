import { cleanHandovers } from '../record/handovers.ts'
import { formatMs } from '../terminal/format-ms.ts'
import { DidNotHappenError } from './progress.ts'
import { leader, nameWithPid, settle, type Stage } from './stage.ts'

/** More turns than replicas: so one of them leads a second time. */
const TURNS = 3

/** Leaders step down, follow in the same process, and lead again when it is their turn. */
export async function stepDownInTurn(stage: Stage): Promise<void> {
  for (let turn = 1; turn <= TURNS; turn++) await stepDown(stage)
  const again = stage.fleet.members.find((replica) => stage.chronicle.termsOf(replica).length > 1)
  if (again === undefined) throw new DidNotHappenError('a replica that stepped down leads again: did not happen')
  const epochs = stage.chronicle.termsOf(again).map(({ epoch }) => epoch)
  stage.tell(`${nameWithPid(again)} has led more than once by now, with epochs ${epochs.join(' and ')}`)
}

/** The leader steps down and follows; another replica leads. */
export async function stepDown(stage: Stage): Promise<void> {
  const { replica, term } = await leader(stage)
  replica.send({ kind: 'step-down' })
  const successor = await leader(stage, term)
  const over = await stage.progress.until('the term is over', () => stage.chronicle.term(term.epoch)?.over)
  await stage.progress.until(`${replica.name} follows again`, () => replica.state === 'following')
  const handover = cleanHandovers(stage.chronicle.terms).find(({ from }) => from.epoch === term.epoch)
  stage.tell(
    `${nameWithPid(replica)} steps down, drained in ${formatMs(over.drainMs)}, and follows in the same process`,
  )
  stage.tell(`${nameWithPid(successor.replica)} leads after ${formatMs(handover?.ms ?? NaN)}`)
  await settle(stage, replica)
  await stage.progress.pause(stage.pauseMs / 2)
}
