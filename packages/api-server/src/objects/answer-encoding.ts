/** Objects and lists in the form that a client asked for. */
import type { Representation } from '../http/negotiation.ts'
import type { ResourceDefinition } from '../resources/resource-definition.ts'
import { metadataOf, tableOf } from '../tables/object-table.ts'
import type { JsonObject } from './json-value.ts'
import type { KubeObject } from './kube-object.ts'
import { encodeList, encodeObject } from './object-encoding.ts'
import type { ObjectPage } from './object-listing.ts'

/** How the objects of an answer are written. */
export interface AnswerForm {
  readonly representation: Representation
  /** Milliseconds since the Unix epoch. */
  readonly now: number
}

/** The JSON of one object. */
export function encodeAnswer(definition: ResourceDefinition, object: KubeObject, form: AnswerForm): string {
  if (form.representation.kind === 'object') return encodeObject(definition, object)
  if (form.representation.kind === 'metadata') return JSON.stringify(metadataOf(object))
  return encodeRow(definition, object, { ...form, withColumns: true })
}

/** The JSON of one object in a watch. Only the first table of a watch names the columns. */
export function encodeEvent(
  definition: ResourceDefinition,
  object: KubeObject,
  form: AnswerForm & { readonly withColumns: boolean },
): string {
  return form.representation.kind === 'table'
    ? encodeRow(definition, object, form)
    : encodeAnswer(definition, object, form)
}

/** The JSON of a list. */
export function encodeAnswerList(definition: ResourceDefinition, page: ObjectPage, form: AnswerForm): string {
  const { representation, now } = form
  if (representation.kind === 'object') return encodeList(definition, page)
  if (representation.kind === 'metadata') {
    const items = page.items.map(metadataOf)
    const { metadata } = page
    return JSON.stringify({ kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items })
  }
  const { includeObject } = representation
  return JSON.stringify(tableOf(definition, page, { includeObject, now, withColumns: true }))
}

function encodeRow(
  definition: ResourceDefinition,
  object: KubeObject,
  { representation, now, withColumns }: AnswerForm & { readonly withColumns: boolean },
): string {
  const includeObject = representation.kind === 'table' ? representation.includeObject : 'None'
  const { resourceVersion = '' } = object.metadata
  const metadata: JsonObject = { resourceVersion }
  return JSON.stringify(tableOf(definition, { items: [object], metadata }, { includeObject, now, withColumns }))
}
