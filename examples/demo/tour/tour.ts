import { firstLeader } from './first-leader.ts'
import { kill } from './kill.ts'
import type { Stage } from './stage.ts'
import { stepDownInTurn } from './step-down.ts'
import { stuck } from './stuck.ts'
import { terminate } from './terminate.ts'

/** A part of the tour. @throws DidNotHappenError when something did not go as it has to */
export interface Act {
  readonly title: string
  readonly play: (stage: Stage) => Promise<void>
}

/** The tour, in order. */
export const TOUR: readonly Act[] = [
  { title: 'First leader', play: firstLeader },
  { title: 'Step-down', play: stepDownInTurn },
  { title: 'SIGTERM', play: terminate },
  { title: 'SIGKILL', play: kill },
  { title: 'A task that does not stop', play: stuck },
]
