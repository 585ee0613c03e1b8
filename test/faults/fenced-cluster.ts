import { setTimeout as sleep } from 'node:timers/promises'
import { leaseRole, type FencePolicy } from '@tenure/kubernetes'
import { type ControlPlane, startControlPlane } from '@tenure/test-control-plane'
import { Api, MERGE_PATCH, type ApiAccess } from './api.ts'

const ADMIN = { name: 'faults-admin', groups: ['system:masters'] }

/** What a replica may do besides standing for election. */
const WRITER_RULES = [
  { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] },
  { apiGroups: [''], resources: ['pods/exec', 'pods/attach', 'pods/portforward'], verbs: ['*'] },
  { apiGroups: ['apps'], resources: ['deployments', 'deployments/status', 'deployments/scale'], verbs: ['*'] },
  { apiGroups: ['faults.tenure.dev'], resources: ['widgets', 'widgets/status'], verbs: ['*'] },
]

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.faults.tenure.dev' },
  spec: {
    group: 'faults.tenure.dev',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
}

/** A replica as the API server sees it: a Pod with a token of its service account, bound to it or not. */
export interface Writer {
  readonly user: string
  readonly token: string
}

/** A real control plane with one or two API servers, service accounts, Pods, and fences. */
export class FencedCluster implements AsyncDisposable {
  readonly controlPlane: ControlPlane
  /** One for each API server. */
  readonly admins: readonly [Api, ...Api[]]
  readonly caCert: string

  private constructor(controlPlane: ControlPlane, admins: readonly [Api, ...Api[]], caCert: string) {
    this.controlPlane = controlPlane
    this.admins = admins
    this.caCert = caCert
  }

  static async start(apiServers: 1 | 2 = 1): Promise<FencedCluster> {
    const controlPlane = await startControlPlane()
    const access = controlPlane.access(ADMIN)
    const first = new Api(access)
    const further = apiServers === 2 ? [new Api({ ...access, ...(await controlPlane.addApiServer()) })] : []
    const cluster = new FencedCluster(controlPlane, [first, ...further], access.caCert)
    await first.expect('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', WIDGETS)
    for (const admin of cluster.admins) {
      await until('the custom resource to be served', async () => {
        const { status } = await admin.get('/apis/faults.tenure.dev/v1/namespaces/default/widgets')
        return status === 200
      })
    }
    return cluster
  }

  get admin(): Api {
    return this.admins[0]
  }

  /** For observers: of two API servers the undisturbed one. */
  get observing(): Api {
    return this.admins.at(-1) ?? this.admin
  }

  /** Makes a namespace with a service account `writer`, which may stand for the Lease and write. */
  async createNamespace(namespace: string, leaseName = 'janitor'): Promise<void> {
    const { admin } = this
    const subjects = [{ kind: 'ServiceAccount', name: 'writer', namespace }]
    const { role } = leaseRole({ name: leaseName, namespace, subjects })
    await admin.expect('POST', '/api/v1/namespaces', { metadata: { name: namespace } })
    await admin.expect('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name: 'writer' } })
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`
    await admin.expect('POST', `${rbac}/roles`, {
      metadata: role.metadata,
      rules: [...(role.rules ?? []), ...WRITER_RULES],
    })
    await this.bindRole(namespace, leaseName)
  }

  /** Gives the service account its rights again. */
  async bindRole(namespace: string, leaseName = 'janitor'): Promise<void> {
    const subjects = [{ kind: 'ServiceAccount', name: 'writer', namespace }]
    const { roleBinding } = leaseRole({ name: leaseName, namespace, subjects })
    await this.admin.expect(
      'POST',
      `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
      roleBinding,
    )
  }

  /** The credentials of the service account, bound to a Pod of that name where one is given. */
  async createWriter(namespace: string, pod?: string): Promise<Writer> {
    const { admin } = this
    const boundObjectRef = { apiVersion: 'v1', kind: 'Pod', name: pod }
    if (pod !== undefined) {
      await admin.expect('POST', `/api/v1/namespaces/${namespace}/pods`, {
        metadata: { name: pod },
        spec: { serviceAccountName: 'writer', containers: [{ name: 'c', image: 'none' }] },
      })
    }
    const answer = await admin.expect('POST', `/api/v1/namespaces/${namespace}/serviceaccounts/writer/token`, {
      spec: { expirationSeconds: 3600, ...(pod !== undefined && { boundObjectRef }) },
    })
    const { token } = answer.status as { readonly token: string }
    return { user: `system:serviceaccount:${namespace}:writer`, token }
  }

  /** A client for each API server with the token of a writer. */
  clientsOf({ token }: Pick<Writer, 'token'>): readonly [Api, ...Api[]] {
    const access = (url: string): ApiAccess => ({ url, caCert: this.caCert, token })
    const [first, ...further] = this.admins
    return [new Api(access(first.url)), ...further.map(({ url }) => new Api(access(url)))]
  }

  /** The kubeconfig of a writer, as text. */
  kubeConfigOf({ token }: Pick<Writer, 'token'>, url: string = this.admin.url): string {
    const authority = Buffer.from(this.caCert).toString('base64')
    const cluster = url.startsWith('http:')
      ? { server: url, 'insecure-skip-tls-verify': true }
      : { server: url, 'certificate-authority-data': authority }
    return JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    })
  }

  /** Puts a fence up. A server needs a moment to heed it: see {@link until}. */
  async apply({ policy, binding, epochBinding }: FencePolicy): Promise<void> {
    const path = '/apis/admissionregistration.k8s.io/v1'
    await this.admin.expect('POST', `${path}/validatingadmissionpolicies`, policy)
    for (const one of [binding, ...(epochBinding ? [epochBinding] : [])]) {
      await this.admin.expect('POST', `${path}/validatingadmissionpolicybindings`, one)
    }
  }

  /** Takes a fence down again. */
  async remove({ policy, binding, epochBinding }: FencePolicy): Promise<void> {
    const path = '/apis/admissionregistration.k8s.io/v1'
    for (const one of [binding, ...(epochBinding ? [epochBinding] : [])]) {
      await this.admin.expect('DELETE', `${path}/validatingadmissionpolicybindings/${one.metadata?.name}`)
    }
    await this.admin.expect('DELETE', `${path}/validatingadmissionpolicies/${policy.metadata?.name}`)
  }

  /** Makes a Lease that nobody holds, unless there is one: without it, the term check does not bound epochs by it. */
  async ensureLease(namespace: string, name = 'janitor'): Promise<void> {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`
    const { status } = await this.admin.send('POST', path, { metadata: { name } })
    if (status !== 201 && status !== 409) throw new Error(`Could not create the Lease ${namespace}/${name}: ${status}`)
  }

  /** Resolves when every API server refuses writes with an older epoch in this namespace. */
  async untilTermCheckHolds(namespace: string): Promise<void> {
    const path = `/api/v1/namespaces/${namespace}/configmaps`
    const annotations = { 'tenure.dev/epoch': '2', 'tenure.dev/lease': 'canary' }
    await this.admin.expect('POST', path, { metadata: { name: 'term-check-canary', annotations } })
    const older = { metadata: { annotations: { 'tenure.dev/epoch': '1' } } }
    for (const admin of this.admins) {
      await until('the term check to hold', async () => {
        const { status } = await admin.send('PATCH', `${path}/term-check-canary?dryRun=All`, older, MERGE_PATCH)
        return status === 422
      })
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const admin of this.admins) admin[Symbol.dispose]()
    await this.controlPlane.stop()
  }
}

/** Resolves when `isSo` does with true. @throws Error after a minute. */
export async function until(what: string, isSo: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 60_000
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`Waited a minute for ${what}`)
    await sleep(20)
  }
}
