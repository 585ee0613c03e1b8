import { keepStatusApart, podSpec } from './core-resources.ts'
import { kindSchema, objectMeta } from './metadata-schema.ts'
import { asJsonObject } from '../objects/json-value.ts'
import { anything, atomicObject, list, listBy, map, object, openObject, pointer, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition } from './resource-definition.ts'

const labelSelector = atomicObject('LabelSelector', {
  matchLabels: map(value('string')),
  matchExpressions: list(anything),
})

const policyStatus = openObject('ValidatingAdmissionPolicyStatus', {})

const ADMISSION = {
  group: 'admissionregistration.k8s.io',
  version: 'v1',
  namespaced: false,
  allowsBlindUpdate: false,
} as const

const FLOW_CONTROL = {
  group: 'flowcontrol.apiserver.k8s.io',
  version: 'v1',
  namespaced: false,
  separateStatus: true,
  allowsBlindUpdate: true,
} as const

/** A new budget allows no disruption until a controller has counted its pods. */
const NO_DISRUPTIONS = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 }

/** Resources for the controllers of a cluster. This server has no controllers and only stores them. */
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
  defineResource({
    group: 'policy',
    version: 'v1',
    resource: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    shortNames: ['pdb'],
    separateStatus: true,
    allowsBlindUpdate: false,
    schema: kindSchema('PodDisruptionBudget', {
      spec: object('PodDisruptionBudgetSpec', {
        minAvailable: value('intOrString'),
        maxUnavailable: value('intOrString'),
        selector: labelSelector,
        unhealthyPodEvictionPolicy: pointer('string'),
      }),
      status: openObject('PodDisruptionBudgetStatus', { conditions: listBy(['type'], openObject('Condition', {})) }),
    }),
    prepare: keepStatusApart(() => NO_DISRUPTIONS),
  }),
  defineResource({
    ...FLOW_CONTROL,
    resource: 'flowschemas',
    kind: 'FlowSchema',
    schema: kindSchema('FlowSchema', {
      spec: object('FlowSchemaSpec', {
        priorityLevelConfiguration: object('PriorityLevelConfigurationReference', { name: value('string') }),
        matchingPrecedence: value('int32'),
        distinguisherMethod: object('FlowDistinguisherMethod', { type: value('string') }),
        rules: list(openObject('PolicyRulesWithSubjects', {})),
      }),
      status: openObject('FlowSchemaStatus', { conditions: listBy(['type'], openObject('FlowSchemaCondition', {})) }),
    }),
    withDefaults: (schema) => ({ ...schema, spec: { matchingPrecedence: 1000, ...asJsonObject(schema['spec']) } }),
    prepare: keepStatusApart(() => ({})),
  }),
  defineResource({
    ...FLOW_CONTROL,
    resource: 'prioritylevelconfigurations',
    kind: 'PriorityLevelConfiguration',
    schema: kindSchema('PriorityLevelConfiguration', {
      spec: openObject('PriorityLevelConfigurationSpec', {}),
      status: openObject('PriorityLevelConfigurationStatus', {
        conditions: listBy(['type'], openObject('PriorityLevelConfigurationCondition', {})),
      }),
    }),
    prepare: keepStatusApart(() => ({})),
  }),
]
