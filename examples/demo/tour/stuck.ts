import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LiveTask } from 'tenure'
import { formatMs } from '../terminal/format-ms.ts'
import { DidNotHappenError } from './progress.ts'
import { succession } from './succession.ts'
import { leader, nameWithPid, replace, type Stage } from './stage.ts'

/** The documented exit code for a drain that did not end in time. */
const WEDGED = 11

/** A task of the leader heeds no signal: the leader names it and ends without a release, because the task may still act. */
export async function stuck(stage: Stage): Promise<void> {
  const { replica, term } = await leader(stage)
  stage.tell(`${nameWithPid(replica)}, which leads, gets a task that does not stop, and must step down`)
  replica.isLeaving = true
  replica.send({ kind: 'get-stuck' })
  replica.send({ kind: 'step-down' })
  const { code, signal } = await stage.progress.until('the wedged leader ends', () => replica.ended)
  const task = stage.chronicle.term(term.epoch)?.stuckTasks[0]
  if (task === undefined) throw new DidNotHappenError('the report of the task that does not stop: did not happen')
  if (code !== WEDGED) throw new DidNotHappenError(`exit code ${WEDGED}: was ${code ?? signal}`)
  stage.tell(`wedged: ${describe(task)}`)
  stage.tell(`it ended with exit code ${code}`)
  await succession(stage, term)
  await replace(stage, replica)
  await stage.progress.pause(stage.pauseMs)
}

function describe({ name, controller, ageMs, spawnedAt }: LiveTask): string {
  return `task ${name} of controller ${controller}, ${formatMs(ageMs)} old, started at ${shortSite(spawnedAt)}`
}

/** A place in a file, seen from where the demo was started. */
function shortSite(site: string): string {
  return site.startsWith('file:') ? relative(process.cwd(), fileURLToPath(site)) : site
}
