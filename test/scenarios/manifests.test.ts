import type { V1Role } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifests } from '@tenure/kubernetes'
import { type ApiServer, openApiServer } from './api-server.ts'
import type { LogLine, ReplicaProcess } from './replica-process.ts'
import { Scenario } from './scenario.ts'

let server: ApiServer
beforeAll(async () => {
  server = await openApiServer()
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
})

type Manifest = ReturnType<typeof manifests>[number]

/** The path of each kind of object. */
const PATHS: Readonly<Record<string, (namespace: string) => string>> = {
  ServiceAccount: (namespace) => `/api/v1/namespaces/${namespace}/serviceaccounts`,
  Role: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/roles`,
  RoleBinding: (namespace) => `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`,
  FlowSchema: () => '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  PodDisruptionBudget: (namespace) => `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  Deployment: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
}

/** Kinds that the embedded API server does not have. */
const REAL_ONLY = ['FlowSchema', 'PodDisruptionBudget']

/** Creates the objects of `manifests()` as an administrator, after a change. */
async function applyManifests(scenario: Scenario, change: (object: Manifest) => Manifest = (object) => object) {
  const { namespace, leaseName: name } = scenario
  for (const object of manifests({ name, namespace, image: 'janitor:1' }).map(change)) {
    const kind = object.kind ?? ''
    if (process.env['TENURE_API_SERVER'] === 'embedded' && REAL_ONLY.includes(kind)) continue
    await server.admin.expect(PATHS[kind]?.(namespace) ?? '', { method: 'POST', body: object })
  }
}

/** Starts a replica as the service account of the manifests, which may do what their Role says and nothing else. */
function startAsServiceAccount(scenario: Scenario, name: string): Promise<ReplicaProcess> {
  const account = `system:serviceaccount:${scenario.namespace}:${scenario.leaseName}`
  return scenario.start(name, { granted: false, credentials: server.kubeConfig(account) })
}

/** Removes a verb on a resource from the Role. */
function without(verb: string, resource: string) {
  return (object: Manifest): Manifest => {
    if (object.kind !== 'Role') return object
    const role = structuredClone(object) as V1Role
    for (const rule of role.rules ?? []) {
      if (rule.resources?.includes(resource) === true) rule.verbs = rule.verbs.filter((one) => one !== verb)
    }
    role.rules = role.rules?.filter(({ verbs }) => verbs.length > 0) ?? []
    return role
  }
}

describe('the manifests', () => {
  it('are accepted, and give the service account all that an election takes', async () => {
    await using scenario = await Scenario.open(server)
    await applyManifests(scenario)
    const alpha = await startAsServiceAccount(scenario, 'alpha')
    await alpha.reached('leading')
    await scenario.lease.changes(2)
    const beta = await startAsServiceAccount(scenario, 'beta')
    await beta.follows('alpha')
    await scenario.handOver(alpha, beta)
    await Promise.all([alpha.terminate(), beta.terminate()])

    expect((await scenario.storedLease())?.holderIdentity).toBe('')
    const events = (await server.admin.expect(`/api/v1/namespaces/${scenario.namespace}/events`)) as {
      readonly items: readonly { readonly message: string }[]
    }
    const messages = events.items.map(({ message }) => message)
    expect(messages).toEqual(
      expect.arrayContaining(['alpha became leader', 'alpha stopped leading', 'beta became leader']),
    )
    for (const { logs } of [alpha, beta]) {
      expect(logs.entries.filter((line) => JSON.stringify(line).includes('forbidden'))).toEqual([])
    }
  })

  it.each(['list', 'watch', 'create', 'update'])(
    'grant no right too many: without `%s`, a replica says what it lacks',
    async (verb) => {
      await using scenario = await Scenario.open(server)
      await applyManifests(scenario, without(verb, 'leases'))
      // Somebody has to be there whose lease can be updated.
      if (verb === 'update') await scenario.createLease('', 1)
      const alpha = await startAsServiceAccount(scenario, 'alpha')
      const isIt = ({ msg }: LogLine) => String(msg).includes(`must grant the verb "${verb}" on the resource "leases"`)
      expect(await alpha.logs.waitFor('what it lacks', isIt)).toMatchObject({ level: 40 })
    },
  )
})
