import { leaseRole } from '@tenure/kubernetes'
import { type LeaseOptions } from 'tenure'
import type { ApiServer } from './api-server.ts'
import type { ReplicaProcess } from './replica-process.ts'
import type { Scenario } from './scenario.ts'

/** A replica in a Pod, and the kubelet of its node. */
export interface Inhabited {
  readonly replica: ReplicaProcess
  /** Reports what became of the container. */
  report(state: object, container?: { readonly containerID: string; readonly lastState: object }): Promise<void>
  /** Reports that the Pod has failed, as after an eviction, with no word of its container. */
  reportFailed(reason: string): Promise<void>
  /** Deletes the Pod at once, whether or not the container has ended. */
  deletePod(): Promise<void>
  readonly containerID: string
  /** The path of its Pod. */
  readonly pod: string
}

/** The replica to start, and the first report of the kubelet. */
interface InhabitOptions {
  readonly name: string
  readonly timing: Partial<LeaseOptions>
  /** When the reported container started. @default now */
  readonly runningSince?: number
  /** @default one of its own */
  readonly containerID?: string
  /** Whether a `lifeLock()` keeps the lease, instead of a Lease with `proveDeath`. @default false */
  readonly forLife?: boolean
  /** The node of the Pod, which must exist where something looks at it. @default none: the Pod was not scheduled */
  readonly node?: string
  /** The text of its kubeconfig. @default that of a user of its own, who has the documented rights */
  readonly credentials?: string
  /** Whether the replica opens an operations port. @default false */
  readonly ops?: boolean
}

/** A time in the format of the kubelet. */
export function wholeSecond(at: number): string {
  return new Date(Math.floor(at / 1000) * 1000).toISOString().replace(/\.\d+/, '')
}

/** Starts a replica in a Pod, with the documented rights, and has the kubelet report that its container runs. */
export async function inhabit(server: ApiServer, scenario: Scenario, options: InhabitOptions): Promise<Inhabited> {
  const { name, timing, runningSince = Date.now(), containerID = `containerd://${name}-1`, forLife = false } = options
  const { credentials } = options
  if (credentials === undefined) await grantProof(server, scenario, name, forLife)
  const pod = await createPod(server, scenario.namespace, options)
  const report: Inhabited['report'] = async (state, container) => {
    const current = (await server.admin.expect(pod)) as object
    const status = {
      name: 'janitor',
      image: 'janitor:1',
      imageID: '',
      ready: true,
      restartCount: 0,
      containerID,
      state,
      ...container,
    }
    const isReady = 'running' in state ? 'True' : 'False'
    const conditions = ['ContainersReady', 'Ready'].map((type) => ({ type, status: isReady }))
    const changed = { ...current, status: { phase: 'Running', conditions, containerStatuses: [status] } }
    await server.admin.expect(`${pod}/status`, { method: 'PUT', body: changed })
  }
  const reportFailed: Inhabited['reportFailed'] = async (reason) => {
    const current = (await server.admin.expect(pod)) as object
    const changed = { ...current, status: { phase: 'Failed', reason } }
    await server.admin.expect(`${pod}/status`, { method: 'PUT', body: changed })
  }
  const replica = await scenario.start(name, {
    granted: false,
    forLife,
    ...(credentials !== undefined && { credentials }),
    ...(options.ops === true && { ops: { port: 0, host: '127.0.0.1' } }),
    timing: forLife ? timing : { ...timing, proveDeath: true },
    env: { POD_NAME: name, POD_NAMESPACE: scenario.namespace },
  })
  await report({ running: { startedAt: wholeSecond(runningSince) } })
  if (!forLife) await replica.logged('container-known')
  return {
    replica,
    report,
    reportFailed,
    containerID,
    pod,
    deletePod: async () => void (await server.admin.expect(`${pod}?gracePeriodSeconds=0`, { method: 'DELETE' })),
  }
}

/** Gives the replica the documented rights, with proof of death. */
async function grantProof(server: ApiServer, scenario: Scenario, name: string, forLife: boolean): Promise<void> {
  const { namespace, leaseName } = scenario
  const subjects = [{ kind: 'User', name: scenario.userOf(name), apiGroup: 'rbac.authorization.k8s.io' }]
  const roleName = `${name}-proof`
  const { role, roleBinding } = leaseRole({ name: leaseName, namespace, subjects, roleName, proveDeath: true, forLife })
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
  await server.admin.expect(`${rbac}/roles`, { method: 'POST', body: role })
  await server.admin.expect(`${rbac}/rolebindings`, { method: 'POST', body: roleBinding })
}

/** Creates a Pod and returns its path. A Pod with finalizers stays after its deletion, as one whose container runs. */
export async function createPod(
  server: ApiServer,
  namespace: string,
  { name, node, finalizers = [] }: Pick<InhabitOptions, 'name' | 'node'> & { readonly finalizers?: readonly string[] },
): Promise<string> {
  const pods = `/api/v1/namespaces/${namespace}/pods`
  const spec = {
    containers: [{ name: 'janitor', image: 'janitor:1' }],
    automountServiceAccountToken: false,
    ...(node !== undefined && { nodeName: node }),
  }
  // A cluster with a controller manager creates this account in every namespace.
  const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } }
  await server.admin.request(`/api/v1/namespaces/${namespace}/serviceaccounts`, { method: 'POST', body: account })
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace, finalizers }, spec }
  await server.admin.expect(pods, { method: 'POST', body })
  return `${pods}/${name}`
}
