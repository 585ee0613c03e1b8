import { join } from 'node:path'
import { locateProgram } from './build.ts'
import type { KubernetesVersion } from './kubernetes-version.ts'
import type { OrphanGuard } from './orphan-guard.ts'
import { startServer, type StartedServer } from './start-server.ts'

/** Where and how etcd runs. */
export interface EtcdOptions {
  /** The version of Kubernetes that it comes with. */
  readonly version: KubernetesVersion
  /** The folder for its data. */
  readonly folder: string
  /** Whether a write is on the disk before it is answered. */
  readonly durable: boolean
  readonly guard: OrphanGuard
  /** The ports that it has to have, after a restart. @default two that are free */
  readonly ports?: readonly number[]
}

/** Starts a single etcd on two loopback ports; the first is the one for clients. */
export async function startEtcd(options: EtcdOptions): Promise<StartedServer> {
  return await startServer({
    name: 'etcd',
    file: await locateProgram('etcd', options.version),
    guard: options.guard,
    ports: options.ports ?? 2,
    args: (ports) => etcdArguments(options, ports),
    isReady: async ([port]) =>
      (await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(1_000) })).ok,
  })
}

/** Where an etcd keeps its data. */
export function etcdData(folder: string): string {
  return join(folder, 'etcd')
}

function etcdArguments(options: EtcdOptions, [clientPort, peerPort]: readonly number[]): string[] {
  const clientUrl = `http://127.0.0.1:${clientPort}`
  const peerUrl = `http://127.0.0.1:${peerPort}`
  return [
    '--name=default',
    `--data-dir=${etcdData(options.folder)}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    '--log-level=warn',
    ...(options.durable ? [] : ['--unsafe-no-fsync']),
  ]
}
