import { join } from 'node:path'
import { locateProgram } from './build.ts'
import type { KubernetesVersion } from './kubernetes-version.ts'
import type { OrphanGuard } from './orphan-guard.ts'
import { startServer, type StartedServer } from './start-server.ts'

/** Where and how kube-apiserver runs. */
export interface ApiServerOptions {
  readonly version: KubernetesVersion
  /** The folder with the files that `writeApiServerFiles` wrote. */
  readonly folder: string
  readonly etcdPort: number
  /** The port that it has to have; any free one when undefined. */
  readonly port: number | undefined
  readonly featureGates: Readonly<Record<string, boolean>>
  readonly runtimeConfig: Readonly<Record<string, boolean>>
  readonly extraArguments: readonly string[]
  readonly isReady: (port: number) => Promise<boolean>
  readonly guard: OrphanGuard
}

/** Starts kube-apiserver on one loopback port. */
export async function startApiServer(options: ApiServerOptions): Promise<StartedServer> {
  return await startServer({
    name: 'kube-apiserver',
    file: await locateProgram('kube-apiserver', options.version),
    guard: options.guard,
    ports: options.port === undefined ? 1 : [options.port],
    args: ([port = 0]) => apiServerArguments(options, port),
    isReady: async ([port = 0]) => await options.isReady(port),
  })
}

function apiServerArguments(options: ApiServerOptions, port: number): string[] {
  const file = (name: string) => join(options.folder, name)
  return [
    `--etcd-servers=http://127.0.0.1:${options.etcdPort}`,
    `--secure-port=${port}`,
    '--bind-address=127.0.0.1',
    '--advertise-address=127.0.0.1',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--cert-dir=${options.folder}`,
    `--tls-cert-file=${file('api-server.crt')}`,
    `--tls-private-key-file=${file('api-server.key')}`,
    `--client-ca-file=${file('ca.crt')}`,
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${file('service-account.pub')}`,
    `--service-account-signing-key-file=${file('service-account.key')}`,
    '--authorization-mode=RBAC',
    // There is no network to publish endpoints for; its lease would also delay a restart.
    '--endpoint-reconciler-type=none',
    `--audit-policy-file=${file('audit-policy.json')}`,
    `--audit-log-path=${file('audit.log')}`,
    // Never start a second file: the counter of requests reads one.
    '--audit-log-maxsize=100000',
    ...listArgument('--feature-gates', options.featureGates),
    ...listArgument('--runtime-config', options.runtimeConfig),
    ...options.extraArguments,
  ]
}

function listArgument(name: string, values: Readonly<Record<string, boolean>>): string[] {
  const entries = Object.entries(values)
  return entries.length === 0 ? [] : [`${name}=${entries.map(([key, value]) => `${key}=${value}`).join(',')}`]
}
