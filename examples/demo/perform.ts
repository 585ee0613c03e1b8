import type { DemoCluster } from './cluster/demo-cluster.ts'
import { startEmbeddedCluster } from './cluster/embedded-cluster.ts'
import { ExpiringConfigMaps } from './cluster/expiring-config-maps.ts'
import { useGivenCluster } from './cluster/given-cluster.ts'
import type { Demo } from './demo.ts'
import { keepUp } from './keep-up.ts'
import { Observer } from './observer/observer.ts'
import { findOverlaps } from './observer/overlaps.ts'
import { type Summary, summarize } from './record/summary.ts'
import { publish } from './publish.ts'
import type { Stage } from './tour/stage.ts'
import { TOUR } from './tour/tour.ts'

const PAUSE_MS = { normal: 2000, quick: 200 }

/** Plays the tour on an API server, then stops the replicas. Resolves with the summary of all of it. */
export async function perform(demo: Demo): Promise<Summary> {
  const cluster = await openCluster(demo)
  try {
    demo.tell(`three replicas stand for one lease on the ${cluster.description}`)
    return await performOn(demo, cluster)
  } finally {
    await cluster[Symbol.asyncDispose]()
  }
}

function openCluster({ options, fleet }: Demo): Promise<DemoCluster> {
  if (options.kubeConfigPath !== undefined) return useGivenCluster(options.kubeConfigPath)
  return startEmbeddedCluster(fleet.members.map(({ name }) => name))
}

async function performOn(demo: Demo, cluster: DemoCluster): Promise<Summary> {
  const { kubeConfig, namespace } = cluster
  const { fleet, progress, options, chronicle, leaks } = demo
  // The observer starts before the first election, so that it sees every version of the lease.
  const observer = await Observer.start({ kubeConfig, namespace, onChange: () => progress.changed() })
  const configMaps = ExpiringConfigMaps.start(kubeConfig, namespace)
  const pauseMs = options.quick ? PAUSE_MS.quick : PAUSE_MS.normal
  const tell = (text: string) => demo.tell(text)
  const stage: Stage = { fleet, chronicle, observer, leaks, progress, tell, pauseMs }
  try {
    fleet.stand((replica) => cluster.placeOf(replica))
    const played = await playTour(demo, stage)
    if (options.keep && played === TOUR.length) {
      await publish(demo, sumUp(demo, observer, played))
      await keepUp(demo, stage)
    }
    await configMaps.stop()
    await stopReplicas(demo)
    await observer.catchUp()
    return sumUp(demo, observer, played)
  } finally {
    await observer.stop()
  }
}

/** Resolves with the number of acts that were played to their end; the first that fails is the last. */
async function playTour(demo: Demo, stage: Stage): Promise<number> {
  for (const [index, { title, play }] of TOUR.entries()) {
    demo.screen.line()
    demo.screen.line(`${index + 1}  ${title}`, 'bold')
    try {
      await play(stage)
    } catch (error) {
      demo.problems.push(`${title}: ${error instanceof Error ? error.message : String(error)}`)
      return index
    }
  }
  return TOUR.length
}

/** A clean stop of every replica is part of what the demo shows. */
async function stopReplicas({ fleet, problems }: Demo): Promise<void> {
  const standing = fleet.members.filter(({ ended }) => ended === undefined)
  await fleet.stop()
  for (const { name, pid, ended, log } of standing) {
    if (ended?.code !== 0) problems.push(`${name} (PID ${pid}) stopped with ${ended?.code ?? ended?.signal}:\n${log}`)
  }
}

function sumUp({ chronicle, leaks, problems }: Demo, observer: Observer, played: number): Summary {
  const { leases, reports, deleted, gap } = observer
  return summarize({
    terms: chronicle.terms,
    acts: { planned: TOUR.length, played },
    overlaps: findOverlaps({ leases, reports, runs: chronicle.runs }),
    leaks: leaks.leaks,
    leakFree: leaks.cleared,
    observed: { leases: leases.length, reports: reports.length, deleted },
    problems: gap === undefined ? problems : [...problems, gap],
  })
}
