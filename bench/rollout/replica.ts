import { join } from 'node:path'
import type { Access, ControlPlane, PeerOptions } from '@tenure/test-control-plane'
import { startPeer } from '@tenure/test-control-plane'
import { traceInto } from '../../test/traces/assert-traces.ts'
import { ReplicaProcess } from '../handover/replica-process.ts'
import type { Turns } from './turns.ts'

/** The program of the replicas of a fleet. */
export type Program = 'tenure' | 'bare' | PeerOptions['program']

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
  /** How replicas reach the API server, except those in Go. */
  readonly access: Access
  /** The same as a file. */
  readonly kubeConfigPath: string
  /** The folder for the traces of replicas of the program `tenure`. */
  readonly traces: string
  readonly namespace: string
  readonly lease: string
  /** Of all fleets that are measured at the same time. */
  readonly turns: Turns
}

/** What a replica is called. */
interface ReplicaName {
  readonly identity: string
  readonly revision: string
}

/** Starts a replica; fulfils as soon as its process runs. */
export async function startReplica(program: Program, name: ReplicaName, place: FleetPlace): Promise<Replica> {
  if (program === 'tenure' || program === 'bare') return startOurs(program, name, place)
  const { server, namespace, lease } = place
  const { identity } = name
  const kubeConfig = server.adminKubeConfig()
  const peer = await startPeer({ program, kubeConfig, namespace, lease, id: identity, release: true })
  const ended = Promise.withResolvers<void>()
  void peer.process.exited.then(() => ended.resolve())
  const stop = () => void peer.terminate()
  const kill = () => peer.process.signal('SIGKILL')
  return { identity, ready: Promise.resolve(), stop, kill, ended: ended.promise }
}

function startOurs(program: 'tenure' | 'bare', { identity, revision }: ReplicaName, place: FleetPlace): Replica {
  const { access, kubeConfigPath, traces, namespace, lease: name } = place
  const lease = { name, namespace }
  const replica =
    program === 'tenure'
      ? new ReplicaProcess({ identity, revision, lease, env: traceInto(traces, identity) }, kubeConfigPath)
      : new ReplicaProcess({ identity, lease, access }, kubeConfigPath, join(import.meta.dirname, 'bare-replica.ts'))
  const ready = replica.told('ready')
  // A replica may end before it is ready.
  ready.catch(() => {})
  const stop = () => void replica.end('SIGTERM')
  const kill = () => void replica.end('SIGKILL')
  return { identity, ready, stop, kill, ended: replica.exited() }
}
