import type { Outcome } from './kubectl.ts'
import { manifests, holderCheck, termCheck, toYaml } from '@tenure/kubernetes'

/** One command that a user gives to kubectl. */
export interface Command {
  /** What follows `kubectl`. */
  readonly line: string
  readonly stdin?: string
  /** Why the servers may answer this one differently, and what has to be the same nevertheless. */
  readonly byDesign?: { readonly reason: string; readonly same: (outcome: Outcome) => unknown }
}

const NAMESPACE = 'kubectl'

const configMap = (data: object, extra: object = {}) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'applied', namespace: NAMESPACE, ...extra },
    data,
  })

const lease = `apiVersion: coordination.k8s.io/v1
kind: Lease
metadata:
  name: janitor
  namespace: ${NAMESPACE}
spec:
  holderIdentity: a
  leaseDurationSeconds: 15
  renewTime: "2026-01-02T03:04:05.000006Z"
`

const budget = `apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: { name: budget, namespace: ${NAMESPACE} }
spec: { maxUnavailable: 1, selector: { matchLabels: { app: janitor } } }
`

const widgets = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: widgets.example.com }
spec:
  group: example.com
  scope: Namespaced
  names: { plural: widgets, singular: widget, kind: Widget, shortNames: [wd] }
  versions:
  - name: v1
    served: true
    storage: true
    additionalPrinterColumns:
    - { name: Size, type: integer, jsonPath: .spec.size }
    - { name: Age, type: date, jsonPath: .metadata.creationTimestamp }
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: { type: object, properties: { size: { type: integer }, colour: { type: string } } }
`

const widget = (spec: object) =>
  JSON.stringify({ apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: NAMESPACE }, spec })

const program = toYaml(manifests({ name: 'janitor', namespace: NAMESPACE, image: 'janitor:1' }))

const fence = {
  lease: { name: 'janitor', namespace: NAMESPACE },
  resources: [{ apiGroup: '', resources: ['configmaps'] }],
}
const policies = toYaml(
  [termCheck(fence), holderCheck({ ...fence, writers: ['system:serviceaccount:kubectl:janitor'] })].flatMap(
    ({ policy, binding }) => [policy, binding],
  ),
)

/** The real server has more kinds: what both must have is what the embedded one has. */
const ONLY_SERVED = 'the embedded server does not have every kind'
const NOTHING_RUNS = 'deployments are only stored by the embedded server, so there is nothing to scale'
const NO_DEFAULTS = 'the embedded server fills in no defaults of kinds that it only stores'
const resourceRules = ({ code, stdout }: Outcome) => ({
  code,
  rules: stdout.split('\n').filter((line) => /^\w/.test(line)),
})
const GO_TEXT = 'kube-apiserver writes the patch as Go prints a map'
/** Upstream's descriptions are not repeated: the fields and their types are the same. */
const NO_DESCRIPTIONS = 'the embedded server has no descriptions of fields'
const fieldsOnly = ({ code, stdout }: Outcome) => ({
  code,
  fields: stdout.split('\n').filter((line) => /^ *\S+ <|^(?:KIND|VERSION|GROUP|FIELD):/.test(line)),
})
const codeOnly = ({ code }: Outcome) => code

/** A working session with kubectl, in order: later commands depend on earlier ones. */
export const conversation: readonly Command[] = [
  { line: 'create namespace kubectl' },
  { line: 'create namespace kubectl' },
  { line: 'get namespace kubectl' },
  { line: 'get namespace kubectl -o yaml' },
  { line: 'label namespace kubectl team=ops' },
  { line: 'describe namespace kubectl' },
  { line: 'config set-context --current --namespace=kubectl' },
  { line: 'create configmap made --from-literal=a=1 --from-literal=b=2' },
  { line: 'get configmap made' },
  { line: 'get configmap made -o wide --show-labels' },
  { line: 'get configmap made -o json' },
  { line: 'get configmap made -o jsonpath={.data.a}' },
  { line: 'get configmap missing' },
  { line: 'get configmap made -o custom-columns=N:.metadata.name,A:.data.a' },
  { line: 'describe configmap made' },
  { line: 'create secret generic hidden --from-literal=p=q' },
  { line: 'get secret hidden' },
  { line: 'describe secret hidden' },
  { line: 'create serviceaccount robot' },
  { line: 'get serviceaccount robot' },
  { line: 'create role reader --verb=get,list --resource=configmaps' },
  { line: 'get role reader' },
  { line: 'describe role reader' },
  { line: 'create rolebinding reads --role=reader --serviceaccount=kubectl:robot' },
  { line: 'get rolebinding reads -o wide' },
  { line: 'create clusterrole all-reader --verb=get --resource=pods' },
  { line: 'auth can-i get configmaps --as=system:serviceaccount:kubectl:robot' },
  { line: 'auth can-i delete configmaps --as=system:serviceaccount:kubectl:robot' },
  { line: 'auth can-i create leases' },
  { line: 'auth whoami -o jsonpath={.status.userInfo.username}' },
  { line: 'apply -f -', stdin: configMap({ x: '1' }) },
  { line: 'apply -f -', stdin: configMap({ x: '1' }) },
  { line: 'diff -f -', stdin: configMap({ x: '2' }) },
  { line: 'apply -f -', stdin: configMap({ x: '2', y: '3' }) },
  { line: 'apply -f - --dry-run=server', stdin: configMap({ x: '9' }) },
  { line: 'get configmap applied -o yaml' },
  { line: 'apply view-last-applied configmap applied' },
  { line: 'apply --server-side -f -', stdin: configMap({ x: '5' }) },
  { line: 'apply --server-side --force-conflicts -f -', stdin: configMap({ x: '5' }) },
  { line: 'get configmap applied -o jsonpath={.metadata.managedFields[*].operation}' },
  { line: 'get configmap applied -o yaml' },
  { line: 'apply -f -', stdin: configMap({ x: 5 }), byDesign: { reason: GO_TEXT, same: codeOnly } },
  {
    line: 'apply -f -',
    stdin: JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'u' }, dta: {} }),
  },
  { line: 'apply -f -', stdin: 'apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n' },
  { line: 'patch configmap applied -p {"data":{"z":"7"}}' },
  { line: 'patch configmap applied --type=merge -p {"data":{"z":null}}' },
  { line: 'patch configmap applied --type=json -p [{"op":"replace","path":"/data/x","value":"8"}]' },
  { line: 'label configmap applied app=janitor' },
  { line: 'label configmap applied app=other' },
  { line: 'label --overwrite configmap applied app=other' },
  { line: 'annotate configmap applied note=hello' },
  { line: 'annotate configmap applied note-' },
  { line: 'get configmaps -l app=other' },
  { line: 'get configmaps --field-selector metadata.name=applied -o name' },
  { line: 'get configmaps --field-selector data.x=1' },
  { line: 'replace -f -', stdin: configMap({ x: 'replaced' }) },
  { line: 'replace --force -f -', stdin: configMap({ x: 'forced' }) },
  { line: 'edit configmap applied' },
  { line: 'apply -f -', stdin: lease },
  { line: 'get lease janitor' },
  { line: 'describe lease janitor' },
  { line: 'patch lease janitor --type=merge -p {"spec":{"leaseDurationSeconds":0}}' },
  { line: 'wait --for=jsonpath={.spec.holderIdentity}=a lease/janitor --timeout=5s' },
  { line: 'wait --for=delete lease/none --timeout=5s' },
  { line: 'apply -f -', stdin: budget },
  { line: 'get pdb budget' },
  { line: 'describe pdb budget' },
  { line: 'create poddisruptionbudget other --selector=app=x --min-available=1' },
  { line: 'apply -f -', stdin: program },
  { line: 'get deployment janitor -o wide' },
  { line: 'get flowschema exempt' },
  { line: 'get prioritylevelconfiguration exempt' },
  { line: 'scale deployment janitor --replicas=3', byDesign: { reason: NOTHING_RUNS, same: () => '' } },
  { line: 'apply -f -', stdin: policies },
  { line: 'get validatingadmissionpolicybindings -o name' },
  { line: 'apply -f -', stdin: widgets },
  { line: 'wait --for=condition=Established crd/widgets.example.com --timeout=20s' },
  { line: 'apply -f -', stdin: widget({ size: 3 }) },
  { line: 'get widgets' },
  { line: 'get wd w -o yaml' },
  { line: 'apply -f -', stdin: widget({ size: 4, colour: 'red' }) },
  { line: 'apply -f -', stdin: widget({ size: 'big' }) },
  { line: 'patch widget w --type=merge -p {"spec":{"size":6}}' },
  { line: 'explain widget.spec' },
  { line: 'delete widget w' },
  { line: 'explain lease', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'explain lease.spec.holderIdentity', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'explain deployment.spec.template.spec.containers', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'explain pod --recursive', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'explain configmap.nothing' },
  { line: 'get events' },
  { line: 'events' },
  { line: 'create configmap raced --dry-run=client -o yaml' },
  { line: 'create configmap raced --dry-run=server' },
  { line: 'create deployment made --image=x:1 --replicas=2' },
  { line: 'create service clusterip svc --tcp=80:8080' },
  { line: 'get svc svc -o jsonpath={.spec.ports[0].port}' },
  { line: 'create token robot --dry-run=client' },
  { line: 'get configmaps,secrets -o name' },
  { line: 'get configmaps --sort-by=.metadata.name' },
  { line: 'get configmaps --watch --request-timeout=2s' },
  { line: 'get --raw /healthz' },
  { line: 'get nothing' },
  { line: 'create -f -', stdin: configMap({ x: '1' }, { name: 'created' }) },
  { line: 'get all', byDesign: { reason: NO_DEFAULTS, same: codeOnly } },
  { line: 'get lease,configmap' },
  { line: 'describe serviceaccount robot' },
  { line: 'describe rolebinding reads' },
  { line: 'set image deployment/made x=x:2' },
  { line: 'get deployment made -o jsonpath={.spec.template.spec.containers[0].image}' },
  { line: 'label deployment made tier=back' },
  {
    line: 'auth can-i --list --as=system:serviceaccount:kubectl:robot',
    byDesign: { reason: 'the embedded server has fewer paths that everybody may read', same: resourceRules },
  },
  { line: 'get events --field-selector involvedObject.name=janitor' },
  { line: 'api-resources --api-group=coordination.k8s.io' },
  { line: 'explain pdb.spec', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'explain flowschema.spec.rules', byDesign: { reason: NO_DESCRIPTIONS, same: fieldsOnly } },
  { line: 'create quota q --hard=pods=1' },
  { line: 'get quota' },
  { line: 'get crd' },
  { line: 'describe crd widgets.example.com' },
  { line: 'describe deployment made', byDesign: { reason: NO_DEFAULTS, same: codeOnly } },
  { line: 'describe svc svc', byDesign: { reason: NO_DEFAULTS, same: codeOnly } },
  { line: 'get endpoints' },
  { line: 'get flowschemas exempt catch-all' },
  { line: 'describe validatingadmissionpolicybindings', byDesign: { reason: NO_DEFAULTS, same: codeOnly } },
  { line: 'get validatingadmissionpolicies' },
  { line: 'rollout status deployment/made --timeout=1s' },
  { line: 'delete configmap made' },
  { line: 'delete configmap made' },
  { line: 'delete configmap made --ignore-not-found' },
  { line: 'delete configmap -l app=other' },
  { line: 'delete secret hidden --dry-run=server' },
  { line: 'delete role,rolebinding --all' },
  { line: 'api-versions', byDesign: { reason: ONLY_SERVED, same: codeOnly } },
  { line: 'api-resources', byDesign: { reason: ONLY_SERVED, same: codeOnly } },
  {
    line: 'version',
    byDesign: { reason: 'each says its own version', same: ({ stdout }) => stdout.replaceAll('+tenure', '') },
  },
  { line: 'cluster-info' },
]
