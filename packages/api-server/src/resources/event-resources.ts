import type { FieldCause } from '../objects/api-status.ts'
import { invalidValue, requiredValue } from '../objects/field-causes.ts'
import { asJsonObject, asString, type JsonObject } from '../objects/json-value.ts'
import type { KubeObject } from '../objects/kube-object.ts'
import { kindSchema, objectReference } from './metadata-schema.ts'
import { object, value, type Schema } from './object-schema.ts'
import { defineResource, type ResourceDefinition, type WriteTarget } from './resource-definition.ts'

const series = object('EventSeries', { count: value('int32'), lastObservedTime: value('microTime') })
const source = object('EventSource', { component: value('string'), host: value('string') })

const sharedFields: Readonly<Record<string, Schema>> = {
  reason: value('string'),
  type: value('string'),
  eventTime: value('microTime'),
  series,
  action: value('string'),
  related: objectReference,
  reportingInstance: value('string'),
}

/** The names of the same field in `v1` and in `events.k8s.io/v1`. */
const RENAMED = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
] as const

const TO_EVENTS_GROUP: ReadonlyMap<string, string> = new Map(RENAMED)
const TO_CORE_GROUP: ReadonlyMap<string, string> = new Map(RENAMED.map(([core, events]) => [events, core]))

function rename(event: KubeObject, names: ReadonlyMap<string, string>, apiVersion: string): KubeObject {
  const renamed = Object.entries(event).map(([field, content]) => [names.get(field) ?? field, content] as const)
  return { ...(Object.fromEntries(renamed) as KubeObject), apiVersion }
}

/** Fields that the API server writes even if they are empty. */
function withCoreDefaults(event: KubeObject): KubeObject {
  return {
    ...event,
    involvedObject: event['involvedObject'] ?? {},
    source: event['source'] ?? {},
    firstTimestamp: event['firstTimestamp'] ?? null,
    lastTimestamp: event['lastTimestamp'] ?? null,
    eventTime: event['eventTime'] ?? null,
    reportingComponent: event['reportingComponent'] ?? '',
    reportingInstance: event['reportingInstance'] ?? '',
  }
}

function validateCoreEvent(event: KubeObject): FieldCause[] {
  const namespace = asString(asJsonObject(event['involvedObject'])['namespace']) ?? ''
  const expected = namespace === '' ? 'default' : namespace
  if (event.metadata.namespace === expected) return []
  return [invalidValue('involvedObject.namespace', namespace, 'does not match event.namespace')]
}

const MAX_NOTE_BYTES = 1024

function validateNewEvent(event: KubeObject, target: WriteTarget): FieldCause[] {
  const causes = validateCoreEvent(event)
  if (target.previous !== undefined) return causes
  if (event['eventTime'] === null) causes.push(requiredValue('eventTime'))
  else causes.push(...requireReport(event))
  const type = asString(event['type']) ?? ''
  if (type !== 'Normal' && type !== 'Warning') causes.push(invalidValue('type', type, 'has invalid value: '))
  if (Buffer.byteLength(asString(event['message']) ?? '') > MAX_NOTE_BYTES) {
    causes.push(invalidValue('message', '', 'can have at most 1024 bytes'))
  }
  return causes
}

function requireReport(event: KubeObject): FieldCause[] {
  const required = [
    ['reportingComponent', 'reportingController'],
    ['reportingInstance', 'reportingInstance'],
    ['action', 'action'],
    ['reason', 'reason'],
  ] as const
  return required.filter(([field]) => (event[field] ?? '') === '').map(([, name]) => requiredValue(name))
}

const shared = {
  version: 'v1',
  resource: 'events',
  kind: 'Event',
  shortNames: ['ev'],
  createsOnUpdate: true,
  collection: 'events',
} as const

const coreEvents = defineResource({
  ...shared,
  group: '',
  schema: kindSchema('Event', {
    ...sharedFields,
    involvedObject: objectReference,
    message: value('string'),
    source,
    firstTimestamp: value('time'),
    lastTimestamp: value('time'),
    count: value('int32'),
    reportingComponent: value('string'),
  }),
  fieldSelectors: {
    ...Object.fromEntries(
      ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].map((field) => [
        `involvedObject.${field}`,
        `involvedObject.${field}`,
      ]),
    ),
    reason: 'reason',
    reportingComponent: 'reportingComponent',
    source: 'source.component',
    type: 'type',
  },
  prepare: withCoreDefaults,
  validate: validateCoreEvent,
})

const newEvents = defineResource({
  ...shared,
  group: 'events.k8s.io',
  schema: kindSchema('Event', {
    ...sharedFields,
    regarding: objectReference,
    note: value('string'),
    deprecatedSource: source,
    deprecatedFirstTimestamp: value('time'),
    deprecatedLastTimestamp: value('time'),
    deprecatedCount: value('int32'),
    reportingController: value('string'),
  }),
  fieldSelectors: Object.fromEntries(
    ['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath']
      .map((field): [string, string] => [`regarding.${field}`, `involvedObject.${field}`])
      .concat([
        ['reason', 'reason'],
        ['reportingController', 'reportingComponent'],
        ['type', 'type'],
      ]),
  ),
  prepare: withCoreDefaults,
  validate: validateNewEvent,
  toStored: (event) => rename(event, TO_CORE_GROUP, 'v1'),
  fromStored: (event) => withoutEmptyFields(rename(event, TO_EVENTS_GROUP, 'events.k8s.io/v1')),
})

function withoutEmptyFields(event: KubeObject): KubeObject {
  const kept: JsonObject = { ...event }
  for (const field of ['reportingController', 'reportingInstance']) if (kept[field] === '') delete kept[field]
  return kept as KubeObject
}

/** Events in the core group and in `events.k8s.io`: two views of the same objects. They do not expire. */
export const eventResources: readonly ResourceDefinition[] = [coreEvents, newEvents]
