import { keepStatusApart, podSpec } from './core-resources.ts'
import { kindSchema, objectMeta } from './metadata-schema.ts'
import { anything, atomicObject, list, listBy, map, openObject, pointer, setOf, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition } from './resource-definition.ts'

const labelSelector = atomicObject('LabelSelector', {
  matchLabels: map(value('string')),
  matchExpressions: list(anything),
})

const endpoint = openObject('Endpoint', { addresses: setOf(value('string')) })

const policyStatus = openObject('ValidatingAdmissionPolicyStatus', {})

const ADMISSION = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  namespaced: false,
  allowsBlindUpdate: false,
} as const

/** Resources that controllers of the cluster act upon. There are none here: these are only stored. */
export const workloadResources: readonly ResourceDefinition[] = [
  defineResource({
    group: 'apps',
    version: 'v1',
    resource: 'deployments',
    kind: 'Deployment',
    shortNames: ['deploy'],
    categories: ['all'],
    separateStatus: true,
    schema: kindSchema('Deployment', {
      spec: openObject('DeploymentSpec', {
        replicas: pointer('int32'),
        selector: labelSelector,
        template: openObject('PodTemplateSpec', { metadata: objectMeta, spec: podSpec }),
      }),
      status: openObject('DeploymentStatus', { conditions: listBy(['type'], openObject('DeploymentCondition', {})) }),
    }),
    prepare: keepStatusApart(() => ({})),
  }),
  defineResource({
    group: 'discovery.k8s.io',
    version: 'v1',
    resource: 'endpointslices',
    kind: 'EndpointSlice',
    countsGenerations: true,
    schema: kindSchema('EndpointSlice', {
      addressType: value('string'),
      endpoints: list(endpoint),
      ports: list(anything),
    }),
  }),
  defineResource({
    ...ADMISSION,
    resource: 'validatingadmissionpolicies',
    singular: 'validatingadmissionpolicy',
    kind: 'ValidatingAdmissionPolicy',
    separateStatus: true,
    schema: kindSchema('ValidatingAdmissionPolicy', { spec: openObject('Spec', {}), status: policyStatus }),
    prepare: keepStatusApart(() => ({})),
  }),
  defineResource({
    ...ADMISSION,
    resource: 'validatingadmissionpolicybindings',
    kind: 'ValidatingAdmissionPolicyBinding',
    countsGenerations: true,
    schema: kindSchema('ValidatingAdmissionPolicyBinding', { spec: openObject('Spec', {}) }),
  }),
]
