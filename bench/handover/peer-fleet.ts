import { setTimeout as sleep } from 'node:timers/promises'
import { type ControlPlane, type Peer, type PeerOptions, startPeer } from '@tenure/test-control-plane'

/** Milliseconds of one retry period of a peer. */
const RETRY_MS = 2000

/**
 * One lease with peers that have the timing of Kubernetes components: a leader and a standby. Stops the leader again and again, until
 * `signal` aborts. Returns the milliseconds from SIGTERM to the first act of the next leader.
 */
export async function handOverPeers(
  server: ControlPlane,
  setup: { readonly program: PeerOptions['program']; readonly namespace: string; readonly lease: string },
  signal: AbortSignal,
): Promise<readonly number[]> {
  const samples: number[] = []
  let count = 0
  const start = () =>
    startPeer({ ...setup, kubeConfig: server.adminKubeConfig(), id: `${setup.lease}-${++count}`, release: true })
  let leader: Peer = await start()
  await leader.waitFor('started-leading')
  while (!signal.aborted) {
    const standby = await start()
    // At a random moment of its poll loop.
    await sleep(500 + Math.random() * RETRY_MS)
    const askedAt = wallMicros()
    const ended = leader.terminate()
    const { t } = await standby.waitFor('started-leading')
    samples.push((t - askedAt) / 1000)
    await ended
    leader = standby
  }
  await leader.process.kill()
  return samples
}

/** The wall clock, in microseconds since 1970. */
function wallMicros(): number {
  return (performance.timeOrigin + performance.now()) * 1000
}
