import { leaseRole } from '../../src/manifests/lease-role.ts'
import type { EmbeddedCluster } from './embedded-cluster.ts'

const RBAC = '/apis/rbac.authorization.k8s.io/v1/namespaces/ops'
const PODS = '/api/v1/namespaces/ops/pods'

/** Gives a user the documented rights on one ConfigMap of a leader for life. */
export async function grantLife(
  cluster: EmbeddedCluster,
  { name, user }: { readonly name: string; readonly user: string },
): Promise<void> {
  const subjects = [{ kind: 'User', name: user, apiGroup: 'rbac.authorization.k8s.io' }]
  const { role, roleBinding } = leaseRole({ name, namespace: 'ops', subjects, roleName: user, forLife: true })
  await cluster.asAdmin('POST', `${RBAC}/roles`, role)
  await cluster.asAdmin('POST', `${RBAC}/rolebindings`, roleBinding)
}

/** Creates a Pod with one container, and returns its uid. */
export async function postPod(cluster: EmbeddedCluster, name: string): Promise<string> {
  const spec = { containers: [{ name: 'janitor', image: 'janitor:1' }] }
  const metadata = { name, namespace: 'ops' }
  const pod = await cluster.asAdmin('POST', PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec })
  return (pod as { readonly metadata: { readonly uid: string } }).metadata.uid
}
