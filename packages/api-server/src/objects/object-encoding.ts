import type { JsonObject } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import type { ObjectPage } from './object-listing.ts'
import { apiVersionOf, type ResourceDefinition } from '../resources/resource-definition.ts'

// Each object is encoded once, however many answers and watches contain it. Stored objects never change, so they can be keys.
const encoded = new WeakMap<ResourceDefinition, WeakMap<KubeObject, string>>()

/** The JSON of a stored object as a version of the API serves it. */
export function encodeObject(definition: ResourceDefinition, object: KubeObject): string {
  let cache = encoded.get(definition)
  if (cache === undefined) encoded.set(definition, (cache = new WeakMap()))
  let text = cache.get(object)
  if (text === undefined) cache.set(object, (text = JSON.stringify(served(definition, object))))
  return text
}

/** A stored object as a version of the API serves it, type first. */
export function served(definition: ResourceDefinition, object: KubeObject): KubeObject {
  const { kind, apiVersion, metadata, ...content } = definition.fromStored(object)
  return { kind, apiVersion, metadata, ...content }
}

/** An empty object for a bookmark: only metadata and the empty structs of the kind. */
export function emptyObject(definition: ResourceDefinition, metadata: JsonObject): JsonObject {
  const structs = Object.entries(definition.schema.fields)
    .filter(([field, schema]) => field !== 'metadata' && schema.kind === 'object' && schema.isStruct)
    .map(([field]): [string, JsonObject] => [field, {}])
  return { kind: definition.kind, apiVersion: apiVersionOf(definition), metadata, ...Object.fromEntries(structs) }
}

/** The JSON of a list. */
export function encodeList(definition: ResourceDefinition, page: ObjectPage): string {
  return JSON.stringify({
    kind: definition.listKind,
    apiVersion: apiVersionOf(definition),
    metadata: page.metadata,
    items: page.items.map((item) => itemOf(definition, item)),
  })
}

/** Items of lists of built-in kinds omit `kind` and `apiVersion`. */
function itemOf(definition: ResourceDefinition, object: KubeObject): JsonObject {
  if (definition.isCustom) return served(definition, object)
  const { kind: _kind, apiVersion: _apiVersion, ...untyped } = definition.fromStored(object)
  return untyped
}
