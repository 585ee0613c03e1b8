import type { Clock } from '@tenure/core'
import { ADMIN_GROUP } from '../access/authentication.ts'
import type { JsonObject } from '../objects/json-value.ts'
import { formatTime } from '../objects/kube-time.ts'
import { PRESET_NAMESPACES } from '../objects/namespace-lifecycle.ts'
import type { ObjectRef, Store } from '../storage/store.ts'

const RBAC = 'rbac.authorization.k8s.io'
const AUTHENTICATED = 'system:authenticated'
const UNAUTHENTICATED = 'system:unauthenticated'
const HEALTH_PATHS = ['/healthz', '/livez', '/readyz', '/version', '/version/']
const DISCOVERY_PATHS = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*']

/** The roles that every user has, as on the real server. */
const ROLES: readonly { name: string; rules: JsonObject[]; groups: string[] }[] = [
  {
    name: 'cluster-admin',
    rules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ],
    groups: [ADMIN_GROUP],
  },
  {
    name: 'system:basic-user',
    rules: [
      {
        verbs: ['create'],
        apiGroups: ['authorization.k8s.io'],
        resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
      },
      { verbs: ['create'], apiGroups: ['authentication.k8s.io'], resources: ['selfsubjectreviews'] },
    ],
    groups: [AUTHENTICATED],
  },
  {
    name: 'system:discovery',
    rules: [{ verbs: ['get'], nonResourceURLs: [...DISCOVERY_PATHS, ...HEALTH_PATHS] }],
    groups: [AUTHENTICATED],
  },
  {
    name: 'system:public-info-viewer',
    rules: [{ verbs: ['get'], nonResourceURLs: HEALTH_PATHS }],
    groups: [AUTHENTICATED, UNAUTHENTICATED],
  },
]

/** Creates what exists on every server from the start: namespaces and the roles of every user. */
export function createPresetObjects(store: Store, clock: Clock, createUid: () => string): void {
  const create = (ref: ObjectRef, type: { apiVersion: string; kind: string }, content: JsonObject): void => {
    if (store.get(ref) !== undefined) return
    const creationTimestamp = formatTime(clock.wallTime())
    const labels = ref.collection === 'namespaces' ? { labels: { 'kubernetes.io/metadata.name': ref.name } } : {}
    const metadata = { name: ref.name, uid: createUid(), creationTimestamp, ...labels }
    store.create(ref, { ...type, metadata, ...content })
  }
  for (const name of PRESET_NAMESPACES) {
    const content = { spec: { finalizers: ['kubernetes'] }, status: { phase: 'Active' } }
    create({ collection: 'namespaces', namespace: '', name }, { apiVersion: 'v1', kind: 'Namespace' }, content)
  }
  const apiVersion = `${RBAC}/v1`
  for (const { name, rules, groups } of ROLES) {
    const role = { collection: `${RBAC}/clusterroles`, namespace: '', name }
    create(role, { apiVersion, kind: 'ClusterRole' }, { rules })
    const subjects = groups.map((group) => ({ kind: 'Group', apiGroup: RBAC, name: group }))
    const roleRef = { apiGroup: RBAC, kind: 'ClusterRole', name }
    const binding = { collection: `${RBAC}/clusterrolebindings`, namespace: '', name }
    create(binding, { apiVersion, kind: 'ClusterRoleBinding' }, { subjects, roleRef })
  }
}
