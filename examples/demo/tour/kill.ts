import { LEASE } from '../lease.ts'
import { succession } from './succession.ts'
import { leader, nameWithPid, replace, type Stage } from './stage.ts'

/** The leader gets SIGKILL: nobody can release the lease, so another replica leads when it has expired. */
export async function kill(stage: Stage): Promise<void> {
  const { replica, term } = await leader(stage)
  stage.tell(`SIGKILL to ${nameWithPid(replica)}, which leads: its lease of ${LEASE.leaseDurationMs} ms has to expire`)
  replica.kill('SIGKILL')
  await succession(stage, term)
  await replace(stage, replica)
  await stage.progress.pause(stage.pauseMs)
}
