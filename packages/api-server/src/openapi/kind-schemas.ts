/** The schemas of the served kinds, for OpenAPI documents. They have no descriptions. */
import type { JsonObject } from '../objects/json-value.ts'
import { type MessageField, messageNameOf, messageTypes } from '../resources/message-types.ts'
import type { Schema } from '../resources/object-schema.ts'
import { apiVersionOf, type ResourceDefinition } from '../resources/resource-definition.ts'

/** Schemas by the names under which documents refer to them, such as `io.k8s.api.core.v1.Pod`. */
export class KindSchemas {
  readonly #schemas = new Map<string, JsonObject>()
  readonly #prefix: string

  /** `prefix` starts each reference: `#/definitions/` or `#/components/schemas/`. */
  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Adds the kind of a resource, its list kind and every schema they refer to. Returns a reference to the kind. */
  addKind(definition: ResourceDefinition): JsonObject {
    const name = kindNameOf(definition)
    if (this.#schemas.has(name)) return this.#reference(name)
    const message = messageNameOf(definition.group, definition.version, definition.kind)
    const isKnown = definition.openApiSchema === undefined && messageTypes().has(message)
    const content = isKnown ? this.#messageSchema(message) : this.#structuralSchema(definition)
    this.#schemas.set(name, { ...content, ...this.#typed(content, definition, definition.kind) })
    if (!definition.isReview) this.#addList(definition, name)
    return this.#reference(name)
  }

  /** All added schemas, by name. */
  toJson(): JsonObject {
    return Object.fromEntries([...this.#schemas].sort(([left], [right]) => (left < right ? -1 : 1)))
  }

  #addList(definition: ResourceDefinition, name: string): void {
    const properties = {
      metadata: this.#messageReference('meta.v1.ListMeta'),
      items: { type: 'array', items: this.#reference(name) },
    }
    const list = { type: 'object', required: ['items'], properties }
    const listName = name.slice(0, -definition.kind.length) + definition.listKind
    this.#schemas.set(listName, { ...list, ...this.#typed(list, definition, definition.listKind) })
  }

  #typed(content: JsonObject, { group, version }: ResourceDefinition, kind: string): JsonObject {
    const properties = {
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      ...(content['properties'] as JsonObject),
    }
    return { properties, 'x-kubernetes-group-version-kind': [{ group, kind, version }] }
  }

  #structuralSchema(definition: ResourceDefinition): JsonObject {
    const metadata = this.#messageReference('meta.v1.ObjectMeta')
    const given = definition.openApiSchema ?? fromMergeSchema(definition.schema)
    const properties = { ...(given['properties'] as JsonObject | undefined), metadata }
    return { ...given, type: 'object', properties }
  }

  #messageReference(message: string): JsonObject {
    const name = messageModelName(message)
    if (!this.#schemas.has(name)) {
      // Messages may be recursive.
      this.#schemas.set(name, {})
      this.#schemas.set(name, this.#messageSchema(message))
    }
    return this.#reference(name)
  }

  #messageSchema(name: string): JsonObject {
    const message = messageTypes().get(name)
    const properties: JsonObject = {}
    const required: string[] = []
    for (const field of message?.fields ?? []) {
      if (field.name === '') {
        const inner = this.#messageSchema(field.type)
        Object.assign(properties, inner['properties'])
        required.push(...((inner['required'] as string[] | undefined) ?? []))
        continue
      }
      properties[field.name] = this.#fieldSchema(field)
      if (field.required) required.push(field.name)
    }
    return {
      type: 'object',
      ...(required.length > 0 && { required }),
      properties,
      ...(message?.atomic === true && { 'x-kubernetes-map-type': 'atomic' }),
    }
  }

  #fieldSchema(field: MessageField): JsonObject {
    const { shape, merging } = field
    const inner = this.#typeSchema(field)
    const [strategy = '', key = ''] = field.patch.split(':')
    const patch = {
      ...(strategy !== '' && { 'x-kubernetes-patch-strategy': strategy }),
      ...(key !== '' && { 'x-kubernetes-patch-merge-key': key }),
    }
    if (shape === 'map') {
      const atomic = merging === '=' ? { 'x-kubernetes-map-type': 'atomic' } : {}
      return { type: 'object', additionalProperties: inner, ...atomic, ...patch }
    }
    return shape === 'list' ? { type: 'array', items: inner, ...listType(merging), ...patch } : { ...inner, ...patch }
  }

  #typeSchema({ type, enumeration }: MessageField): JsonObject {
    const name = NAMED_SCALARS[type]
    if (name !== undefined) {
      this.#schemas.set(name, this.#scalarSchema(type))
      return this.#reference(name)
    }
    const scalar = SCALARS[type]
    if (scalar === undefined) return type.includes('.') ? this.#messageReference(type) : {}
    return { ...scalar, ...(enumeration.length > 0 && { enum: [...enumeration] }) }
  }

  /** OpenAPI v2 cannot express a value of two types. */
  #scalarSchema(type: string): JsonObject {
    if (type === 'fieldsV1') return { type: 'object' }
    const [first = '', second = ''] = type === 'quantity' ? ['string', 'number'] : ['integer', 'string']
    const format = type === 'intOrString' ? { format: 'int-or-string' } : {}
    return this.#prefix === '#/definitions/'
      ? { type: 'string', ...format }
      : { oneOf: [{ type: first }, { type: second }], ...format }
  }

  #reference(name: string): JsonObject {
    return { $ref: `${this.#prefix}${name}` }
  }
}

const SCALARS: Readonly<Record<string, JsonObject>> = {
  string: { type: 'string' },
  boolean: { type: 'boolean' },
  int32: { type: 'integer', format: 'int32' },
  int64: { type: 'integer', format: 'int64' },
  float64: { type: 'number', format: 'double' },
  number: { type: 'number' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  microTime: { type: 'string', format: 'date-time' },
  quantity: { type: 'string' },
  intOrString: { format: 'int-or-string', 'x-kubernetes-int-or-string': true },
  any: { type: 'object' },
  strings: { type: 'array', items: { type: 'string' } },
}

/** The scalars that documents describe under a name. */
const NAMED_SCALARS: Readonly<Record<string, string>> = {
  quantity: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
  intOrString: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
  fieldsV1: 'io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1',
}

function listType(merging: string): JsonObject {
  if (merging === '') return {}
  if (merging === '-') return { 'x-kubernetes-list-type': 'atomic' }
  if (merging === '=') return { 'x-kubernetes-list-type': 'set' }
  return { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': merging.split(',') }
}

/** The schema of a kind for which the server only has a merge schema. */
function fromMergeSchema(schema: Schema): JsonObject {
  switch (schema.kind) {
    case 'object': {
      const fields = Object.entries(schema.fields).map(([name, field]): [string, JsonObject] => [
        name,
        fromMergeSchema(field),
      ])
      const open = schema.open ? { 'x-kubernetes-preserve-unknown-fields': true } : {}
      return { type: 'object', properties: Object.fromEntries(fields), ...open }
    }
    case 'map':
      return { type: 'object', additionalProperties: fromMergeSchema(schema.values) }
    case 'list':
      return { type: 'array', items: fromMergeSchema(schema.items) }
    case 'scalar':
      return SCALARS[schema.type] ?? {}
    case 'any':
      return {}
    default:
      return schema satisfies never
  }
}

/** `io.k8s.api.core.v1.Pod`, or `com.example.v1.Widget` for a custom resource. */
function kindNameOf(definition: ResourceDefinition): string {
  const { group, version, kind, isCustom } = definition
  if (isCustom) return [...group.split('.').toReversed(), version, kind].join('.')
  if (group === 'apiextensions.k8s.io')
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kind}`
  return messageModelName(messageNameOf(group, version, kind))
}

function messageModelName(message: string): string {
  return message.startsWith('meta.') ? `io.k8s.apimachinery.pkg.apis.${message}` : `io.k8s.api.${message}`
}

/** The extension `x-kubernetes-group-version-kind` of a resource. */
export function groupVersionKindOf({ group, version, kind }: ResourceDefinition): JsonObject {
  return { group, version, kind }
}

/** The root path of a version of a group: `/apis/apps/v1`. */
export function rootPathOf(definition: ResourceDefinition): string {
  return definition.group === '' ? `/api/${definition.version}` : `/apis/${apiVersionOf(definition)}`
}
