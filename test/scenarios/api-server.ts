import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startApiServer } from '@tenure/api-server'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from '@tenure/test-control-plane'
import { AdminClient } from './admin-client.ts'
import { withServer } from './kube-config-text.ts'
import { TcpProxy } from './tcp-proxy.ts'

/** A request that the API server received. */
interface SeenRequest {
  readonly verb: string
  readonly resource: string
  readonly name: string
}

/** How an API server takes part in coordinated leader election. */
interface Coordination {
  readonly featureGates: { readonly CoordinatedLeaderElection: boolean }
  readonly runtimeConfig: { readonly 'coordination.k8s.io/v1beta1': boolean }
}

/** Its controller elects among LeaseCandidates. */
export const GATE_ON = {
  featureGates: { CoordinatedLeaderElection: true },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
} as const satisfies Coordination

/** It stores LeaseCandidates, and nothing reads them. */
export const STORED_ONLY = {
  featureGates: { CoordinatedLeaderElection: false },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': true },
} as const satisfies Coordination

/** It knows no LeaseCandidates, as by default. */
export const GATE_OFF = {
  featureGates: { CoordinatedLeaderElection: false },
  runtimeConfig: { 'coordination.k8s.io/v1beta1': false },
} as const satisfies Coordination

/** The API server under test. */
export interface ApiServer extends AsyncDisposable {
  readonly admin: AdminClient
  /** The text of a kubeconfig for a user, who may do nothing until a role is bound. */
  kubeConfig(user: string): string
  /** Where replicas reach it. */
  readonly url: string
  /** Breaks every connection of the replicas and refuses new ones. */
  takeDown(): Promise<void>
  /** Ends {@link takeDown}, with the same address and the same data. */
  bringBack(): Promise<void>
  /** Ends it and starts it with other flags, the same address and the same data. */
  restartWith(coordination: Coordination): Promise<void>
  /** The requests of a user up to now, watches included, the oldest first. */
  requestsOf(user: string): Promise<readonly SeenRequest[]>
}

/**
 * Starts the API server that `TENURE_API_SERVER` names: `embedded`, or `real`, which is etcd and kube-apiserver.
 * @throws Error when it names neither.
 */
export function openApiServer(coordination: Coordination = GATE_OFF): Promise<ApiServer> {
  const kind = process.env['TENURE_API_SERVER']
  if (kind === 'embedded') return openEmbedded(coordination)
  if (kind === 'real') return openRealApiServer(coordination)
  throw new Error(`Expected TENURE_API_SERVER to be \`embedded\` or \`real\`, got \`${kind}\``)
}

/** The embedded API server. It has no process to stop, so an outage cuts the connection to it. */
async function openEmbedded(coordination: Coordination): Promise<ApiServer> {
  const folder = await mkdtemp(join(tmpdir(), 'tenure-scenario-server-'))
  const file = join(folder, 'state.json')
  let server = await startApiServer({ ...coordination, file })
  const proxy = await TcpProxy.start(server.url)
  const admin = await AdminClient.fromKubeConfig(server.kubeConfig())
  return {
    admin,
    url: proxy.url,
    kubeConfig: (user) => withServer(server.kubeConfig({ name: user }), proxy.url),
    takeDown: () => proxy.cut(),
    bringBack: () => proxy.restore(),
    restartWith: async (flags) => {
      const port = Number(new URL(server.url).port)
      await server.stop()
      server = await startApiServer({ ...flags, file, port })
    },
    requestsOf: async (user) => server.requests.find({ user }),
    [Symbol.asyncDispose]: async () => {
      admin.close()
      await proxy[Symbol.asyncDispose]()
      await server.stop()
      await rm(folder, { recursive: true, maxRetries: 5 })
    },
  }
}

/** Starts etcd and kube-apiserver. */
export async function openRealApiServer(
  options?: ControlPlaneOptions,
): Promise<ApiServer & { readonly controlPlane: ControlPlane }> {
  const controlPlane = await startControlPlane(options)
  const admin = await AdminClient.fromKubeConfig(controlPlane.adminKubeConfig())
  let markers = 0
  return {
    controlPlane,
    admin,
    url: controlPlane.url,
    kubeConfig: (user) => controlPlane.kubeConfig({ name: user }),
    takeDown: () => controlPlane.stopApiServer({ kill: true }),
    bringBack: () => controlPlane.startApiServer(),
    restartWith: (flags) => controlPlane.restartApiServer({ kill: true, ...flags }),
    requestsOf: async (user) => {
      // An entry is written a moment after the answer: once that of a later request is there, the earlier ones are.
      const marker = `marker-${++markers}`
      await admin.request(`/api/v1/namespaces/default/configmaps/${marker}`)
      for (;;) {
        const entries = await controlPlane.audit()
        if (entries.some((entry) => entry.name === marker)) return entries.filter((entry) => entry.user === user)
        await sleep(10)
      }
    },
    [Symbol.asyncDispose]: async () => {
      admin.close()
      await controlPlane.stop()
    },
  }
}
