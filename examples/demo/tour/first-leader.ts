import { leader, nameWithPid, type Stage } from './stage.ts'

/** One of the replicas is elected and works; the others follow. */
export async function firstLeader(stage: Stage): Promise<void> {
  const { replica, term } = await leader(stage)
  const seconds = (performance.now() / 1000).toFixed(1)
  stage.tell(`${nameWithPid(replica)} leads with epoch ${term.epoch}, ${seconds} s after the start of the demo`)
  const others = () => stage.fleet.members.filter((other) => other !== replica)
  await stage.progress.until('the others follow', () => others().every(({ state }) => state === 'following'))
  stage.tell(`${others().map(nameWithPid).join(' and ')} follow`)
  await stage.progress.until('the janitor works', () => stage.observer.deleted > 0)
  stage.tell('the janitor has deleted its first expired ConfigMap')
  await stage.progress.pause(stage.pauseMs)
}
