import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { type Figures, percentile, summary } from '../figures.ts'
import type { FleetPlace } from './replica.ts'
import type { Sighting } from './stale-replica.ts'

/** The objects that hold the count. */
const COUNTERS = Array.from({ length: 30 }, (_, index) => `stale-counter-${index}`)

const PROGRAM = join(import.meta.dirname, 'stale-replica.ts')

/** How often a new leader reads a cache that does not show the last write of the leader before, with and without the barrier. */
export async function measureStaleReads(
  { server, kubeConfigPath, namespace }: Omit<FleetPlace, 'lease'>,
  handovers: number,
): Promise<Figures> {
  await server.apply(COUNTERS.map((name) => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace } })))
  const sightings: Sighting[] = []
  const enough = Promise.withResolvers<void>()
  const replicas = ['a', 'b'].map((identity) =>
    fork(PROGRAM, [identity, kubeConfigPath, 'stale-reads', namespace, ...COUNTERS], {
      execArgv: ['--conditions=@tenure/source'],
      stdio: 'inherit',
    }),
  )
  for (const replica of replicas) {
    replica.on('message', (sighting) => {
      if (sightings.push(sighting as Sighting) >= handovers) enough.resolve()
    })
    replica.once('exit', (code) => enough.reject(new Error(`A replica ended with code ${code}`)))
  }
  try {
    await enough.promise
  } finally {
    await Promise.all(replicas.map((replica) => stop(replica)))
  }
  return report(sightings)
}

async function stop(replica: ReturnType<typeof fork>): Promise<void> {
  if (replica.exitCode !== null || replica.signalCode !== null) return
  replica.removeAllListeners('exit')
  const ended = once(replica, 'exit')
  if (replica.connected) replica.disconnect()
  await ended
}

function report(sightings: readonly Sighting[]): Figures {
  const stale = (counts: readonly number[]) => counts.filter((count) => count < 0).length
  const barrier = sightings.map(({ barrierMs }) => barrierMs)
  const event = sightings.map(({ putToEventMs }) => putToEventMs)
  console.log(summary('from the begin of a term to synced', barrier))
  console.log(summary('from a PUT to its event', event))
  return {
    stale_reads: stale(sightings.map(({ after }) => after)),
    stale_reads_without_barrier_percent: (100 * stale(sightings.map(({ before }) => before))) / sightings.length,
    stale_handovers: sightings.length,
    barrier_p50_ms: percentile(barrier, 0.5),
    put_to_event_p50_ms: percentile(event, 0.5),
  }
}
