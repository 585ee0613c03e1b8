import { leaseRole } from '@tenure/kubernetes'
import { objectAt, type JsonObject } from '@tenure/kubernetes/internal'
import type { Cluster } from '../cluster/cluster.ts'
import type { Finding } from './finding.ts'

/** Whose rights to check, and for which lease. */
export interface RightsOptions {
  readonly namespace: string
  readonly lease: string
  /** The service account of the replicas; undefined for the user of the kubeconfig. */
  readonly serviceAccount: string | undefined
}

/** One right that a replica needs. */
interface Right {
  readonly group: string
  readonly resource: string
  readonly verb: string
  /** The only object that it covers; undefined for all. */
  readonly name: string | undefined
}

/** Asks the API server, by access reviews, for every right that a replica needs. Finds those that are missing. */
export async function checkRights(cluster: Cluster, options: RightsOptions): Promise<readonly Finding[]> {
  const missing: Right[] = []
  for (const right of rightsOf(options)) if (!(await isAllowed(cluster, options, right))) missing.push(right)
  return missing.map((right) => findingOf(right, options))
}

function rightsOf({ lease, namespace }: RightsOptions): readonly Right[] {
  const { rules = [] } = leaseRole({ name: lease, namespace }).role
  return rules.flatMap(({ apiGroups = [], resources = [], resourceNames = [undefined], verbs }) =>
    verbs.flatMap((verb) =>
      resources.map((resource) => ({ group: apiGroups[0] ?? '', resource, verb, name: resourceNames[0] })),
    ),
  )
}

async function isAllowed(cluster: Cluster, options: RightsOptions, right: Right): Promise<boolean> {
  const { namespace, serviceAccount } = options
  const { group, resource, verb, name } = right
  const resourceAttributes = { namespace, group, resource, verb, ...(name !== undefined && { name }) }
  const kind = serviceAccount === undefined ? 'SelfSubjectAccessReview' : 'SubjectAccessReview'
  const answer = await cluster.send(
    { group: 'authorization.k8s.io', version: 'v1', resource: `${kind.toLowerCase()}s` },
    {
      method: 'POST',
      verb: 'create',
      body: {
        apiVersion: 'authorization.k8s.io/v1',
        kind,
        spec: { resourceAttributes, ...(serviceAccount !== undefined && subjectOf(namespace, serviceAccount)) },
      },
    },
  )
  return objectAt(answer, 'status')['allowed'] === true
}

function subjectOf(namespace: string, serviceAccount: string): JsonObject {
  return {
    user: `system:serviceaccount:${namespace}:${serviceAccount}`,
    groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
  }
}

/** The user of the kubeconfig need not have the rights of a replica. */
function findingOf({ group, resource, verb, name }: Right, { namespace, serviceAccount }: RightsOptions): Finding {
  const what = `${verb} ${group === '' ? resource : `${resource}.${group}`}${name === undefined ? '' : ` ${name}`}`
  const isOfReplicas = serviceAccount !== undefined
  return {
    severity: !isOfReplicas ? 'note' : resource === 'events' ? 'warning' : 'error',
    about: isOfReplicas ? `service account ${namespace}/${serviceAccount}` : `your user in namespace ${namespace}`,
    problem: `may not ${what}, which a replica does`,
    remedy: isOfReplicas
      ? 'Apply the Role that `tenure manifests` prints.'
      : 'This matters only for a program that uses this kubeconfig. Check that of your replicas with `--service-account`.',
  }
}
