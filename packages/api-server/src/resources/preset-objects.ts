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

/** The default roles and the groups that have them, as on the real server. */
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

const FLOW_CONTROL = 'flowcontrol.apiserver.k8s.io'
const NOT_DANGLING = { conditions: [{ type: 'Dangling', status: 'False', reason: 'Found' }] }
const ALL_REQUESTS = [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }].map(
  (rule) => ({ resourceRules: [rule], nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] }),
)
const fromGroups = (...groups: string[]): JsonObject[] =>
  ALL_REQUESTS.map((rules) => ({ ...rules, subjects: groups.map((name) => ({ kind: 'Group', group: { name } })) }))

/** The mandatory FlowSchemas and PriorityLevelConfigurations. This server does not queue requests. */
const FLOWS: readonly { name: string; level: JsonObject; schema: JsonObject }[] = [
  {
    name: 'exempt',
    level: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
    schema: { matchingPrecedence: 1, rules: fromGroups(ADMIN_GROUP) },
  },
  {
    name: 'catch-all',
    level: {
      type: 'Limited',
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
    },
    schema: {
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: fromGroups(UNAUTHENTICATED, AUTHENTICATED),
    },
  },
]

/** Creates the objects that every server starts with: namespaces, default roles and flow control. */
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
  const flowControl = { apiVersion: `${FLOW_CONTROL}/v1` }
  for (const { name, level, schema } of FLOWS) {
    const ref = (resource: string): ObjectRef => ({ collection: `${FLOW_CONTROL}/${resource}`, namespace: '', name })
    create(
      ref('prioritylevelconfigurations'),
      { ...flowControl, kind: 'PriorityLevelConfiguration' },
      { spec: level, status: {} },
    )
    const spec = { ...schema, priorityLevelConfiguration: { name } }
    create(ref('flowschemas'), { ...flowControl, kind: 'FlowSchema' }, { spec, status: NOT_DANGLING })
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
