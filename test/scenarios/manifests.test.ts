import type { V1Role } from '@kubernetes/client-node'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { manifests } from '@tenure/kubernetes'
import { type ApiServer, openApiServer } from './api-server.ts'
import { inhabit, type Inhabited } from './inhabited-replica.ts'
import type { LogLine, ReplicaProcess } from './replica-process.ts'
import { Scenario } from './scenario.ts'
import { BRISK } from './timings.ts'

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
  ClusterRole: () => '/apis/rbac.authorization.k8s.io/v1/clusterroles',
  ClusterRoleBinding: () => '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings',
  FlowSchema: () => '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas',
  PodDisruptionBudget: (namespace) => `/apis/policy/v1/namespaces/${namespace}/poddisruptionbudgets`,
  Deployment: (namespace) => `/apis/apps/v1/namespaces/${namespace}/deployments`,
}

/** Kinds that the embedded API server does not have. */
const REAL_ONLY = ['FlowSchema', 'PodDisruptionBudget']

/** Creates the objects of `manifests()` as an administrator, after a change. */
async function applyManifests(
  scenario: Scenario,
  change: (object: Manifest) => Manifest = (object) => object,
  forLife = false,
) {
  const { namespace, leaseName: name } = scenario
  for (const object of manifests({ name, namespace, image: 'janitor:1', forLife }).map(change)) {
    const kind = object.kind ?? ''
    if (process.env['TENURE_API_SERVER'] === 'embedded' && REAL_ONLY.includes(kind)) continue
    await server.admin.expect(PATHS[kind]?.(namespace) ?? '', { method: 'POST', body: object })
  }
}

/** The kubeconfig of the service account of the manifests, which may do what their Role says and nothing else. */
function accountOf(scenario: Scenario): string {
  return server.kubeConfig(`system:serviceaccount:${scenario.namespace}:${scenario.leaseName}`)
}

function startAsServiceAccount(scenario: Scenario, name: string): Promise<ReplicaProcess> {
  return scenario.start(name, { granted: false, credentials: accountOf(scenario) })
}

/** A replica that leads for life, if it may, without a wait. */
function inhabitAsServiceAccount(scenario: Scenario, name: string): Promise<Inhabited> {
  const timing = { ...BRISK, missingLease: 'create' } as const
  return inhabit(server, scenario, { name, timing, forLife: true, credentials: accountOf(scenario) })
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

describe('the manifests of a leader for life', () => {
  it('are accepted, and give the service account all that it takes, also to free the ConfigMap of a failed Pod', async () => {
    await using scenario = await Scenario.open(server)
    await applyManifests(scenario, undefined, true)
    const alpha = await inhabitAsServiceAccount(scenario, 'alpha')
    await alpha.replica.reached('leading')
    const beta = await inhabitAsServiceAccount(scenario, 'beta')
    await beta.replica.follows('alpha')
    alpha.replica.signal('SIGKILL')
    await alpha.replica.exited
    await alpha.reportFailed('Evicted')
    await beta.replica.logged('holder-ended')
    await beta.replica.reached('leading')
    for (const { replica } of [alpha, beta]) {
      expect(replica.logs.entries.filter((line) => JSON.stringify(line).includes('forbidden'))).toEqual([])
    }
  })

  it.each([
    ['get', 'configmaps'],
    ['list', 'configmaps'],
    ['watch', 'configmaps'],
    ['create', 'configmaps'],
    ['update', 'configmaps'],
    ['delete', 'configmaps'],
    ['get', 'pods'],
    ['list', 'pods'],
    ['watch', 'pods'],
  ])('grant no right too many: without `%s` on %s, a replica says what it lacks', async (verb, resource) => {
    await using scenario = await Scenario.open(server)
    await applyManifests(scenario, without(verb, resource), true)
    const alpha = await inhabitAsServiceAccount(scenario, 'alpha')
    // Who may not delete the ConfigMap notices when somebody else's Pod has failed.
    const replica = verb === 'delete' ? await followerOfFailed(scenario, alpha) : alpha.replica
    const text = `must grant the verb "${verb}" on the resource "${resource}"`
    await replica.logs.waitFor('what it lacks', ({ msg }: LogLine) => String(msg).includes(text))
  })
})

async function followerOfFailed(scenario: Scenario, leader: Inhabited): Promise<ReplicaProcess> {
  await leader.replica.reached('leading')
  const { replica } = await inhabitAsServiceAccount(scenario, 'beta')
  await replica.follows('alpha')
  leader.replica.signal('SIGKILL')
  await leader.replica.exited
  await leader.reportFailed('Evicted')
  return replica
}
