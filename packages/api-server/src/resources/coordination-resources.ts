import { compareVersions, isVersion } from '@tenure/core/internal'
import type { CoordinationSettings } from '../coordination/coordination-settings.ts'
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

function withSpec(object: KubeObject): KubeObject {
  return { ...object, spec: asJsonObject(object['spec']) }
}

/** Without the feature gate, the fields of coordinated election are dropped silently, unless the stored lease has them. */
function withoutCoordination(lease: KubeObject, { previous }: WriteTarget): KubeObject {
  const stored = asJsonObject(previous?.['spec'])
  const spec = Object.entries(asJsonObject(lease['spec'])).filter(
    ([field]) => !COORDINATION_FIELDS.includes(field) || stored[field] !== undefined,
  )
  return { ...lease, spec: Object.fromEntries(spec) }
}

const COORDINATION_FIELDS = ['strategy', 'preferredHolder']

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

function validateCandidateVersions({ emulationVersion, binaryVersion, strategy }: JsonObject): FieldCause[] {
  const [emulation, binary] = [asString(emulationVersion), asString(binaryVersion)]
  const causes = [...malformed('spec.emulationVersion', emulation), ...malformed('spec.binaryVersion', binary)]
  if (binary === undefined) causes.push(requiredValue('spec.binaryVersion'))
  else if (isVersion(binary) && isVersion(emulation) && compareVersions(binary, emulation) < 0) {
    causes.push(invalidValue('spec.binaryVersion', binary, 'must be greater than or equal to `emulationVersion`'))
  }
  if (strategy === OLDEST_EMULATION_VERSION && isZeroVersion(emulation)) {
    const why = "must be specified when `strategy` is 'OldestEmulationVersion'"
    causes.push(requiredValue('spec.emulationVersion', why))
  }
  return causes
}

function malformed(field: string, version: string | undefined): FieldCause[] {
  if (version === undefined || isVersion(version)) return []
  return [invalidValue(field, version, 'must be a valid semantic version')]
}

/** Whether kube-apiserver reads this as version zero: `0.0.0`, none, or no version at all. */
function isZeroVersion(version: string | undefined): boolean {
  return !isVersion(version) || compareVersions(version, '0.0.0') === 0
}

/** `coordination.k8s.io`: leases, and the served versions of lease candidates. */
export function coordinationResources({ isOn, versions }: CoordinationSettings): readonly ResourceDefinition[] {
  return [
    defineResource({
      group: 'coordination.k8s.io',
      version: 'v1',
      resource: 'leases',
      kind: 'Lease',
      schema: kindSchema('Lease', { spec: leaseSpec }),
      createsOnUpdate: true,
      allowsBlindUpdate: false,
      prepare: isOn ? withSpec : (lease, target) => withoutCoordination(withSpec(lease), target),
      validate: validateLease,
    }),
    ...versions.map((version) =>
      defineResource({
        group: 'coordination.k8s.io',
        version,
        resource: 'leasecandidates',
        kind: 'LeaseCandidate',
        schema: kindSchema('LeaseCandidate', { spec: leaseCandidateSpec }),
        nameRule: 'config-map-key',
        createsOnUpdate: true,
        allowsBlindUpdate: false,
        prepare: withSpec,
        validate: validateLeaseCandidate,
        toStored: (candidate) => ({ ...candidate, apiVersion: 'coordination.k8s.io/v1beta1' }),
        fromStored: (candidate) => ({ ...candidate, apiVersion: `coordination.k8s.io/${version}` }),
      }),
    ),
  ]
}
