import type { FieldCause } from '../objects/api-status.ts'
import { invalidValue, forbiddenValue, requiredValue, unsupportedValue } from '../objects/field-causes.ts'
import { asJsonObject, asString, type JsonObject, type JsonValue } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema } from './metadata-schema.ts'
import { object, pointer, value } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'

const leaseSpec = object('LeaseSpec', {
  holderIdentity: pointer('string'),
  leaseDurationSeconds: pointer('int32'),
  acquireTime: pointer('microTime'),
  renewTime: pointer('microTime'),
  leaseTransitions: pointer('int32'),
  strategy: pointer('string'),
  preferredHolder: pointer('string'),
})

const leaseCandidateSpec = object('LeaseCandidateSpec', {
  leaseName: value('string'),
  pingTime: pointer('microTime'),
  renewTime: pointer('microTime'),
  binaryVersion: value('string'),
  emulationVersion: value('string'),
  strategy: value('string'),
})

const OLDEST_EMULATION_VERSION = 'OldestEmulationVersion'
const SEMANTIC_VERSION = /^\d+\.\d+\.\d+(?:[-+].+)?$/

function withSpec(object: KubeObject): KubeObject {
  return { ...object, spec: asJsonObject(object['spec']) }
}

function validateLease(lease: KubeObject): FieldCause[] {
  const spec = asJsonObject(lease['spec'])
  const causes = validateNumbers(spec)
  if (spec['strategy'] !== undefined) causes.push(...validateStrategy(asString(spec['strategy']) ?? ''))
  if (isGiven(spec['preferredHolder']) && !isGiven(spec['strategy'])) {
    causes.push(forbiddenValue('spec.preferredHolder', 'may only be specified if `strategy` is defined'))
  }
  return causes
}

function validateNumbers({ leaseDurationSeconds, leaseTransitions }: JsonObject): FieldCause[] {
  const causes: FieldCause[] = []
  if (typeof leaseDurationSeconds === 'number' && leaseDurationSeconds <= 0) {
    causes.push(invalidValue('spec.leaseDurationSeconds', leaseDurationSeconds, 'must be greater than 0'))
  }
  if (typeof leaseTransitions === 'number' && leaseTransitions < 0) {
    causes.push(invalidValue('spec.leaseTransitions', leaseTransitions, 'must be greater than or equal to 0'))
  }
  return causes
}

function isGiven(text: JsonValue | undefined): boolean {
  return (text ?? '') !== ''
}

function validateStrategy(strategy: string): FieldCause[] {
  // The real server also repeats the last part of the path. Custom strategies contain a domain, such as `example.com/mine`.
  if (strategy === OLDEST_EMULATION_VERSION || strategy.includes('/')) return []
  return [unsupportedValue('spec.strategy.strategy', strategy, [OLDEST_EMULATION_VERSION])]
}

function validateLeaseCandidate(candidate: KubeObject, target: WriteTarget): FieldCause[] {
  const spec = asJsonObject(candidate['spec'])
  const causes = [...validateCandidateVersions(spec)]
  if (spec['leaseName'] === undefined) causes.unshift(requiredValue('spec.leaseName'))
  if (spec['strategy'] === undefined) causes.push(requiredValue('spec.strategy'))
  else causes.push(...validateStrategy(asString(spec['strategy']) ?? ''))
  const previous = target.previous
  if (previous !== undefined && spec['leaseName'] !== asJsonObject(previous['spec'])['leaseName']) {
    causes.push(invalidValue('spec.leaseName', spec['leaseName'] ?? '', 'field is immutable'))
  }
  return causes
}

function validateCandidateVersions(spec: JsonObject): FieldCause[] {
  const causes: FieldCause[] = []
  const emulation = asString(spec['emulationVersion'])
  const binary = asString(spec['binaryVersion'])
  if (emulation !== undefined && !SEMANTIC_VERSION.test(emulation)) {
    causes.push(invalidValue('spec.emulationVersion', emulation, 'must be a valid semantic version'))
  }
  if (binary === undefined) causes.push(requiredValue('spec.binaryVersion'))
  else if (!SEMANTIC_VERSION.test(binary)) {
    causes.push(invalidValue('spec.binaryVersion', binary, 'must be a valid semantic version'))
  }
  if (spec['strategy'] === OLDEST_EMULATION_VERSION && emulation === undefined) {
    const why = "must be specified when `strategy` is 'OldestEmulationVersion'"
    causes.push(requiredValue('spec.emulationVersion', why))
  }
  return causes
}

/** `coordination.k8s.io`: leases and lease candidates. There is no coordinated election: candidates are only stored. */
export const coordinationResources: readonly ResourceDefinition[] = [
  defineResource({
    group: 'coordination.k8s.io',
    version: 'v1',
    resource: 'leases',
    kind: 'Lease',
    schema: kindSchema('Lease', { spec: leaseSpec }),
    createsOnUpdate: true,
    allowsBlindUpdate: false,
    prepare: withSpec,
    validate: validateLease,
  }),
  defineResource({
    group: 'coordination.k8s.io',
    version: 'v1beta1',
    resource: 'leasecandidates',
    kind: 'LeaseCandidate',
    schema: kindSchema('LeaseCandidate', { spec: leaseCandidateSpec }),
    nameRule: 'config-map-key',
    createsOnUpdate: true,
    allowsBlindUpdate: false,
    fieldSelectors: { 'spec.leaseName': 'spec.leaseName' },
    prepare: withSpec,
    validate: validateLeaseCandidate,
  }),
]
