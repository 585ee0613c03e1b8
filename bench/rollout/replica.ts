import type { ControlPlane, PeerOptions } from '@tenure/test-control-plane'
import { startPeer } from '@tenure/test-control-plane'
import { ReplicaProcess } from '../handover/replica-process.ts'

/** The program of the replicas of a fleet. */
export type Program = 'tenure' | PeerOptions['program']

/** A replica process, as a kubelet uses it: to start and to stop. */
export interface Replica {
  readonly identity: string
  /** Fulfils when its readiness probe would pass; at once for a program without readiness. */
  readonly ready: Promise<unknown>
  /** Sends SIGTERM. */
  stop(): void
  /** Sends SIGKILL. */
  kill(): void
  /** Resolves when the process has ended. */
  readonly ended: Promise<unknown>
}

/** Where the replicas of a fleet stand for election. */
export interface FleetPlace {
  readonly server: ControlPlane
  readonly kubeConfigPath: string
  readonly namespace: string
  readonly lease: string
}

/** Starts a replica; fulfils as soon as its process runs. */
export async function startReplica(
  program: Program,
  { identity, revision }: { readonly identity: string; readonly revision: string },
  place: FleetPlace,
): Promise<Replica> {
  const { server, kubeConfigPath, namespace, lease } = place
  if (program === 'tenure') {
    const replica = new ReplicaProcess({ identity, revision, lease: { name: lease, namespace } }, kubeConfigPath)
    const ready = replica.told('ready')
    // A replica may end before it is ready.
    ready.catch(() => {})
    const stop = () => void replica.end('SIGTERM')
    const kill = () => void replica.end('SIGKILL')
    return { identity, ready, stop, kill, ended: replica.exited() }
  }
  const kubeConfig = server.adminKubeConfig()
  const peer = await startPeer({ program, kubeConfig, namespace, lease, id: identity, release: true })
  const ended = Promise.withResolvers<void>()
  void peer.process.exited.then(() => ended.resolve())
  const stop = () => void peer.terminate()
  const kill = () => peer.process.signal('SIGKILL')
  return { identity, ready: Promise.resolve(), stop, kill, ended: ended.promise }
}
