import type { FieldCause } from './api-status.ts'
import { forbiddenValue, invalidValue, requiredValue, tooLongValue } from './field-causes.ts'
import { asString } from './json-value.ts'
import type { KubeObject, ObjectMeta } from './kube-object.ts'
import { generateNameErrors, labelKeyErrors, labelValueErrors, nameErrors } from './name-rules.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'

const MAX_ANNOTATION_BYTES = 256 * 1024

/** The errors in the metadata of a new object. */
export function validateNewMetadata(definition: ResourceDefinition, metadata: ObjectMeta): FieldCause[] {
  const { name = '', generateName = '' } = metadata
  const causes: FieldCause[] = []
  if (generateName !== '') {
    const errors = generateNameErrors(definition.nameRule, generateName)
    causes.push(...errors.map((why) => invalidValue('metadata.generateName', generateName, why)))
  }
  if (name === '') causes.push(requiredValue('metadata.name', 'name or generateName is required'))
  else causes.push(...nameErrors(definition.nameRule, name).map((why) => invalidValue('metadata.name', name, why)))
  return [...causes, ...validateCommonMetadata(metadata), ...validateFinalizers(metadata)]
}

/** The errors in the metadata of an object that replaces `previous`. */
export function validateChangedMetadata(next: KubeObject, previous: KubeObject): FieldCause[] {
  const causes: FieldCause[] = []
  const before = previous.metadata
  if (before.deletionTimestamp !== undefined) {
    const added = (next.metadata.finalizers ?? []).filter((name) => !before.finalizers?.includes(name))
    if (added.length > 0) causes.push(forbiddenValue('metadata.finalizers', addedFinalizers(added)))
  }
  if (next.metadata.uid !== before.uid) {
    causes.push(invalidValue('metadata.uid', next.metadata.uid ?? '', 'field is immutable'))
  }
  return [...causes, ...validateCommonMetadata(next.metadata)]
}

function addedFinalizers(names: readonly string[]): string {
  const told = [...names].sort().map((name) => JSON.stringify(name))
  return `no new finalizers can be added if the object is being deleted, found new finalizers []string{${told.join(', ')}}`
}

function validateCommonMetadata(metadata: ObjectMeta): FieldCause[] {
  return [...validateLabels(metadata), ...validateAnnotations(metadata), ...validateOwnerReferences(metadata)]
}

function validateLabels({ labels = {} }: ObjectMeta): FieldCause[] {
  return Object.entries(labels).flatMap(([key, content]) => [
    ...labelKeyErrors(key).map((why) => invalidValue('metadata.labels', key, why)),
    ...labelValueErrors(content).map((why) => invalidValue('metadata.labels', content, why)),
  ])
}

function validateAnnotations({ annotations = {} }: ObjectMeta): FieldCause[] {
  const entries = Object.entries(annotations)
  const causes = entries.flatMap(([key]) =>
    labelKeyErrors(key.toLowerCase()).map((why) => invalidValue('metadata.annotations', key, why)),
  )
  const size = entries.reduce((sum, [key, content]) => sum + Buffer.byteLength(key) + Buffer.byteLength(content), 0)
  if (size > MAX_ANNOTATION_BYTES) causes.push(tooLongValue('metadata.annotations', MAX_ANNOTATION_BYTES))
  return causes
}

function validateFinalizers({ finalizers = [] }: ObjectMeta): FieldCause[] {
  return finalizers.flatMap((name) => labelKeyErrors(name).map((why) => invalidValue('metadata.finalizers', name, why)))
}

function validateOwnerReferences({ ownerReferences = [] }: ObjectMeta): FieldCause[] {
  const field = 'metadata.ownerReferences'
  const causes = ownerReferences.flatMap((reference) =>
    ['apiVersion', 'kind', 'name', 'uid']
      .filter((part) => (asString(reference[part]) ?? '') === '')
      .map((part) => {
        const why = part === 'apiVersion' ? 'version must not be empty' : 'must not be empty'
        return invalidValue(`${field}.${part}`, '', why)
      }),
  )
  const controllers = ownerReferences.filter((reference) => reference['controller'] === true)
  const [first, second] = controllers.map((reference) => `${String(reference['kind'])}/${String(reference['name'])}`)
  if (first !== undefined && second !== undefined) {
    const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`
    causes.push(invalidValue(field, ownerReferences, why))
  }
  return causes
}
